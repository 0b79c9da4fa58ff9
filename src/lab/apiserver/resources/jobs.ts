/** Jobs and CronJobs: stored, without a controller. */
import type { KubeObject } from '../../../api/object.js';
import { shortDuration } from '../../../go/short-duration.js';
import { age, ageColumn, column, nameColumn, numberColumn } from './columns.js';
import { defineResource } from './define.js';
import { containerColumns, selectorColumn, setTemplateDefaults } from './workloads.js';

type Template = Parameters<typeof setTemplateDefaults>[0];

interface JobSpec {
  completions?: number;
  parallelism?: number;
  selector?: unknown;
  template?: Template;
  [field: string]: unknown;
}

interface JobStatus {
  succeeded?: number;
  startTime?: string;
  completionTime?: string;
  conditions?: { type: string; status: string }[];
}

const jobSpec = (job: KubeObject) => job.spec as JobSpec;
const jobStatus = (job: KubeObject) => (job.status ?? {}) as JobStatus;

export const jobs = defineResource({
  group: 'batch',
  kind: 'Job',
  plural: 'jobs',
  shape: 'batch.v1.Job',
  namespaced: true,
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  noController: true,
  columns: [
    nameColumn,
    column('Status', 'How it goes.', stateOf),
    column('Completions', 'Pods that succeeded, of those that must.', completionsOf),
    column('Duration', 'How long it took, or takes already.', durationOf),
    ageColumn,
    ...containerColumns((job) => jobSpec(job).template),
    selectorColumn,
  ],
  setDefaults(job) {
    job.spec ??= {};
    const spec = jobSpec(job);
    setTemplateDefaults(spec.template);
    if (spec.parallelism === undefined) spec.completions ??= 1;
    const defaults = {
      parallelism: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
      manualSelector: false,
    };
    job.spec = { ...defaults, ...spec };
  },
  prepareForCreate(job) {
    job.status = {};
    if (jobSpec(job).manualSelector !== true) selectByUid(job);
  },
});

/** A Job finds its Pods by labels with its uid. */
function selectByUid(job: KubeObject): void {
  const spec = jobSpec(job);
  const { uid = '', name } = job.metadata;
  const template = (spec.template ?? {}) as { metadata?: { labels?: Record<string, string> } };
  const own = { 'batch.kubernetes.io/controller-uid': uid, 'controller-uid': uid };
  const named = { 'batch.kubernetes.io/job-name': name, 'job-name': name };
  const metadata = { ...template.metadata, labels: { ...template.metadata?.labels, ...own, ...named } };
  job.spec = {
    ...spec,
    selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
    template: { ...template, metadata },
  };
}

function stateOf(job: KubeObject): string {
  const has = (type: string) =>
    (jobStatus(job).conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (has('Suspended')) return 'Suspended';
  return has('FailureTarget') ? 'FailureTarget' : 'Running';
}

function completionsOf(job: KubeObject): string {
  const { completions, parallelism = 0 } = jobSpec(job);
  const { succeeded = 0 } = jobStatus(job);
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationOf(job: KubeObject, now: Date): string {
  const { startTime, completionTime } = jobStatus(job);
  if (!startTime) return '';
  return shortDuration((completionTime ? Date.parse(completionTime) : now.getTime()) - Date.parse(startTime));
}

interface CronSpec {
  schedule?: string;
  timeZone?: string;
  suspend?: boolean;
  jobTemplate?: { spec?: JobSpec };
}

const cronSpec = (object: KubeObject) => object.spec as CronSpec;
const cronStatus = (object: KubeObject) =>
  (object.status ?? {}) as { active?: unknown[]; lastScheduleTime?: string | null };

export const cronJobs = defineResource({
  group: 'batch',
  kind: 'CronJob',
  plural: 'cronjobs',
  shape: 'batch.v1.CronJob',
  namespaced: true,
  shortNames: ['cj'],
  categories: ['all'],
  hasStatus: true,
  hasGeneration: true,
  noController: true,
  columns: [
    nameColumn,
    column('Schedule', 'When Jobs are made.', (object) => cronSpec(object).schedule ?? ''),
    column('Timezone', "Whose clock the schedule means; none: the server's.", (object) => {
      return cronSpec(object).timeZone ?? '<none>';
    }),
    {
      ...column('Suspend', 'Whether no Jobs are made for now.', (object) =>
        cronSpec(object).suspend === true ? 'True' : 'False',
      ),
      type: 'boolean',
    },
    numberColumn('Active', 'How many of its Jobs run.', (object) => (cronStatus(object).active ?? []).length),
    column('Last Schedule', 'When the last Job was made.', (object, now) => {
      const { lastScheduleTime } = cronStatus(object);
      return lastScheduleTime ? age(lastScheduleTime, now) : '<none>';
    }),
    ageColumn,
    ...containerColumns((object) => cronSpec(object).jobTemplate?.spec?.template),
  ],
  setDefaults(object) {
    const spec = cronSpec({ spec: {}, ...object });
    setTemplateDefaults(spec.jobTemplate?.spec?.template);
    const defaults = {
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    };
    object.spec = { ...defaults, ...spec };
  },
  prepareForCreate(object) {
    object.status = {};
  },
});
