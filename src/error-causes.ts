/** An error and its causes as one line of text. */

/** An error with more causes than this is probably its own cause. */
const mostCauses = 10;

/** `message: cause: cause of the cause`. */
export function withCauses(error: unknown): string {
  return messages(error).join(': ');
}

/** The causes alone; empty when there is none. */
export function causesOf(error: Error): string {
  return messages(error).slice(1).join(': ');
}

function messages(error: unknown): string[] {
  const found: string[] = [];
  for (let at = error; at !== undefined && found.length <= mostCauses; at = at instanceof Error ? at.cause : undefined)
    found.push(at instanceof Error ? at.message : String(at));
  return found;
}
