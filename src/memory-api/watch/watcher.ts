/**
 * One open watch, without a queue: while the client keeps up, events are written as they happen; when it does
 * not, the watcher stops and later continues from the store's history. A client that is too slow is disconnected.
 *
 *     live ──write returns false──► waiting ──drained──► catching up from history ──► live
 *                                    └─ too long, or its position is compacted ──► disconnected
 */
import type { KubeObject } from '../../api/object.js';
import type { Selection } from '../list/selection.js';
import { apiVersionOf, decodeStored, servedBytes } from '../requests/codec.js';
import type { Exchange, ResponseStream } from '../requests/exchange.js';
import type { OutputForm, Presenter } from '../requests/presenter.js';
import type { Resource } from '../resource.js';
import { RevisionCompacted, type Store, type Stored, type StoreEvent } from '../store/store.js';
import { formerState, frame, objectOf, plainLine, previousOf, type WatchType } from './watch-event.js';

export interface WatcherOptions {
  exchange: Exchange;
  stream: ResponseStream;
  store: Store;
  resource: Resource;
  selection: Selection;
  /** Events up to this revision are known to the client, or shown by `initial`. */
  from: number;
  /** The initial state, sent first as ADDED. */
  initial: Stored[];
  /** Send a bookmark after `initial`. */
  marksInitialEnd: boolean;
  presenter: Presenter;
  form: OutputForm | undefined;
  includeObject: string;
  bookmarks: boolean;
  /** A client that accepts nothing for this long while there are events is disconnected. */
  maxStallMs: number;
  now(): number;
}

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #unsubscribe: () => void;
  /** The newest revision that this watcher received or skipped. */
  #position: number;
  #stalledSince: number | undefined;
  #hasColumns = true;
  /** In reverse order, so that removing one is cheap. */
  readonly #initial: Stored[];
  #isInitialMarked = false;
  isClosed = false;
  /** Called once, when it is closed. */
  onLeave: () => void = () => {};

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#position = options.from;
    this.#initial = options.initial.reverse();
    this.#unsubscribe = options.store.subscribe(options.selection.scope, (event) => this.#hear(event));
    options.exchange.onClose(() => this.#leave());
    this.#catchUp();
  }

  get resource(): Resource {
    return this.#options.resource;
  }

  /** Sends a bookmark, so that the client can resume there. */
  sendBookmark(): void {
    if (!this.#options.bookmarks || this.#stalledSince !== undefined || this.isClosed) return;
    // A watcher that is not waiting has received everything in its scope.
    this.#position = Math.max(this.#position, this.#options.store.revision);
    this.#bookmark({});
  }

  /** A Status as the last event. */
  fail(status: unknown): void {
    this.#write(frame('ERROR', JSON.stringify(status)));
    this.end();
  }

  end(): void {
    if (this.isClosed) return;
    this.#leave();
    this.#options.stream.end();
  }

  #hear(event: StoreEvent): void {
    if (event.revision <= this.#position) return;
    if (this.#stalledSince === undefined) {
      this.#send(event);
      this.#position = event.revision;
    } else if (this.#options.now() - this.#stalledSince > this.#options.maxStallMs) this.#cutOff();
  }

  /** Decides what an event means to this watcher: objects come into its selection and leave it. */
  #send(event: StoreEvent): void {
    const { resource, selection } = this.#options;
    const { matches } = selection;
    const isGone = event.type === 'deleted';
    if (matches === undefined) {
      const type: WatchType = isGone ? 'DELETED' : event.type === 'created' ? 'ADDED' : 'MODIFIED';
      this.#sendAs(event, type, false);
      return;
    }
    const isNow = !isGone && matches(objectOf(event, resource));
    const previous = previousOf(event, resource);
    const wasBefore = previous !== undefined && matches(previous);
    if (isNow) this.#sendAs(event, wasBefore ? 'MODIFIED' : 'ADDED', false);
    else if (wasBefore) this.#sendAs(event, 'DELETED', !isGone);
  }

  #sendAs(event: StoreEvent, type: WatchType, left: boolean): void {
    const { resource, form } = this.#options;
    if (form === undefined) this.#write(plainLine(event, type, resource, left));
    else this.#write(frame(type, this.#encode(left ? formerState(event, resource) : objectOf(event, resource))));
  }

  #encode(object: KubeObject): string {
    const { form, presenter, resource, includeObject } = this.#options;
    if (form === undefined) return JSON.stringify(object);
    const withColumns = this.#hasColumns;
    this.#hasColumns = false;
    return JSON.stringify(presenter.present({ form, resource, objects: [object], includeObject, withColumns }));
  }

  #write(line: Buffer): void {
    if (this.isClosed) return;
    const { stream, now } = this.#options;
    if (stream.write(line) || this.#stalledSince !== undefined) return;
    this.#stalledSince = now();
    stream.onDrain(() => this.#resume());
  }

  #resume(): void {
    this.#stalledSince = undefined;
    this.#catchUp();
  }

  #catchUp(): void {
    const { store, selection } = this.#options;
    try {
      if (!this.#tellInitial()) return;
      for (const event of store.events(selection.scope, this.#position)) {
        if (this.#mustWait()) return;
        this.#send(event);
        this.#position = event.revision;
      }
    } catch (error) {
      if (!(error instanceof RevisionCompacted)) throw error;
      // Its position was compacted: the client gets 410 when it resumes, and lists again.
      this.#cutOff();
    }
  }

  /** True when the initial state was sent. */
  #tellInitial(): boolean {
    const { resource, selection, form, marksInitialEnd } = this.#options;
    while (this.#initial.length > 0) {
      if (this.#mustWait()) return false;
      const stored = this.#initial.pop()!;
      if (form === undefined && selection.matches === undefined) {
        this.#write(frame('ADDED', servedBytes(resource, stored)));
        continue;
      }
      const object = decodeStored(resource, stored.bytes);
      if (selection.matches?.(object) !== false) this.#write(frame('ADDED', this.#encode(object)));
    }
    if (this.#mustWait()) return false;
    if (marksInitialEnd && !this.#isInitialMarked) {
      this.#isInitialMarked = true;
      this.#bookmark({ annotations: { 'k8s.io/initial-events-end': 'true' } });
    }
    return true;
  }

  #bookmark(extra: { annotations?: Record<string, string> }): void {
    const { resource } = this.#options;
    const metadata = { resourceVersion: String(this.#position), creationTimestamp: null, ...extra };
    const object = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata } as unknown as KubeObject;
    this.#write(frame('BOOKMARK', this.#encode(object)));
  }

  #mustWait(): boolean {
    return this.#stalledSince !== undefined || this.isClosed;
  }

  #cutOff(): void {
    if (this.isClosed) return;
    this.#leave();
    this.#options.stream.destroy();
  }

  #leave(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#unsubscribe();
    this.onLeave();
  }
}
