/**
 * Reduces the memory of a process that is idle most of the time. Imported first. V8's optimizing compilers are for hot loops, which
 * relet does not have; running them once maps some 4 MB of the node binary into memory that is never used again.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--no-opt');
setFlagsFromString('--no-sparkplug');
// Short-lived objects get 1 MB and no more; by default that grows to 16 MB three times over and never comes back.
setFlagsFromString('--semi-space-growth-factor=1');
