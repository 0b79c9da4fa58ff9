/** Alternative forms of a response: Table for kubectl get, PartialObjectMetadata for clients that need only metadata. */
import type { KubeObject } from '../../api/object.js';
import type { Resource } from '../resource.js';

/** Form that the Accept header requests, e.g. `application/json;as=Table;g=meta.k8s.io;v=v1`. */
export interface OutputForm {
  as: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  group: string;
  version: string;
}

export interface ListMeta {
  resourceVersion: string;
  continue?: string;
  remainingItemCount?: number;
}

export interface Presentation {
  form: OutputForm;
  resource: Resource;
  /** One object for a get or a watch event, several for a list. */
  objects: KubeObject[];
  /** Present for lists. */
  list?: ListMeta;
  /** The includeObject parameter of Table: None, Metadata (the default) or Object. */
  includeObject: string;
  /** Watches send column definitions only with the first event. */
  withColumns: boolean;
}

export interface Presenter {
  /** Throws a 406 ApiError for a form that it does not know. */
  present(presentation: Presentation): unknown;
}
