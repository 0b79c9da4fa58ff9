/** The server answered, and the answer is not one of a Kubernetes API server: a login page, half a body, far too much. */
export class AnswerError extends Error {
  override name = 'AnswerError';
}
