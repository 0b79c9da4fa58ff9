/** Messages for people when the API rejects a request. */
import { expect, test } from 'vitest';
import { ApiError } from '../api/status.js';
import { explained } from './explain-failure.js';

test('a missing default namespace is explained with the commands that create it', () => {
  const error = new ApiError(404, 'NotFound', 'namespaces "relet-system" not found');
  expect((explained(error, '') as Error).message).toBe(
    "there is no namespace 'relet-system'; create it with 'kubectl create namespace relet-system', or " +
      "'kubectl apply -k deploy/', which installs all that relet needs, or choose another with -n",
  );
});
