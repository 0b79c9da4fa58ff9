/** The frame of pages that read the effective config of every node: time, number of nodes, and which could not be read and why. */
import type { ComponentChildren } from 'preact';
import type { AuditAnswer, InventoryAnswer } from '../../wire.js';
import { Ago } from '../parts/age.js';
import { Button } from '../parts/button.js';
import { CopyCommand } from '../parts/copy-command.js';
import { DataTable } from '../parts/data-table.js';
import { NodeCount } from '../parts/node-links.js';
import { Loaded, PageTitle, Section } from '../parts/panels.js';
import { useResource } from '../resource.js';

interface Props<T> {
  title: string;
  /** Also the path of the API. */
  verb: 'inventory' | 'audit';
  children(answer: T): ComponentChildren;
}

export function FleetReading<T extends InventoryAnswer | AuditAnswer>({ title, verb, children }: Props<T>) {
  const resource = useResource<T>(verb);
  const again = (
    <Button onClick={resource.reload} isBusy={resource.isLoading}>
      {resource.isLoading ? 'Reading…' : 'Read again'}
    </Button>
  );
  return (
    <>
      <PageTitle actions={again}>{title}</PageTitle>
      <Loaded resource={resource}>
        {(answer) => (
          <>
            <p class="sentence">
              {answer.summary}{' '}
              <span class="muted">
                Read <Ago ms={answer.at} />.
              </span>
            </p>
            <Unread answer={answer} />
            {children(answer)}
            <p class="hint">The same in a terminal:</p>
            <CopyCommand command={`relet ${verb}`} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Unread({ answer: { unread, rightCommands } }: { answer: InventoryAnswer | AuditAnswer }) {
  if (unread.length === 0) return null;
  return (
    <Section title="Could not be read">
      <DataTable
        caption="Nodes that could not be read"
        rows={unread}
        rowKey={({ reason }) => reason}
        columns={[
          { title: 'Nodes', cell: ({ nodes }) => <NodeCount nodes={nodes} />, isText: true },
          { title: 'Reason', cell: ({ reason }) => reason, isText: true },
        ]}
      />
      {rightCommands && (
        <>
          <p class="hint">An administrator gives you the missing right with:</p>
          <CopyCommand command={rightCommands.join('\n')} />
        </>
      )}
    </Section>
  );
}
