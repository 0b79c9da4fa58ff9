/** Catalogue entries for images, container logs and the container runtime: pulling, garbage collection, rotation. */
import type { Entries } from './entry.js';

const puller = 'The image puller is built at start.';
const collector = 'The image collector takes it at start and looks every few minutes.';
const rotator = 'The log rotation loop takes it at start.';

export const imagesAndLogs: Entries = {
  registryPullQPS: {
    what: 'Image pulls a second; 0 for no limit.',
    needs: 'restart',
    why: puller,
    risk: 'Low values delay pod starts after a drain; no limit, on many nodes, loads the registry.',
  },
  registryBurst: {
    what: 'Pulls that may start at once before registryPullQPS applies.',
    needs: 'restart',
    why: puller,
    risk: 'Too low fails pulls with a rate error while many pods start.',
  },
  serializeImagePulls: {
    what: 'Whether images are pulled one after the other.',
    needs: 'restart',
    why: puller,
    risk: 'Parallel pulls compete for disk and network; old Docker storage drivers broke on them. True contradicts maxParallelImagePulls above 1.',
  },
  maxParallelImagePulls: {
    what: 'Most pulls at the same time; needs serializeImagePulls false when above 1.',
    needs: 'restart',
    why: puller,
    risk: 'Rejected when serializeImagePulls is true; many pulls at once slow the disk for running pods.',
  },
  imagePullCredentialsVerificationPolicy: {
    what: 'Whether a pod must prove that it may use an image that is on the node already.',
    needs: 'restart',
    why: 'Asked when a container is created.',
    pods: 'new containers only',
    risk: 'Stricter: containers that restart may fail for want of pull secrets. Looser: pods use private images of others.',
  },
  preloadedImagesVerificationAllowlist: {
    what: 'Preloaded images that need no such proof.',
    needs: 'restart',
    why: 'Asked when a container is created.',
    pods: 'new containers only',
    risk: 'A wildcard that is too wide opens private images; a missing entry fails restarted containers.',
  },
  imageMinimumGCAge: {
    what: 'How long an unused image is kept at least.',
    needs: 'restart',
    why: collector,
    risk: 'Ages are counted from the kubelet start, so each restart postpones collection by this time.',
  },
  imageMaximumGCAge: {
    what: 'How long an unused image is kept at most; 0 for no limit.',
    needs: 'restart',
    why: collector,
    risk: 'Ages are counted from the kubelet start. Short values make pods pull again what was just deleted.',
  },
  imageGCHighThresholdPercent: {
    what: 'Disk use, in percent, at which unused images are deleted.',
    needs: 'restart',
    why: collector,
    risk: 'Lowered, images are deleted within minutes and pulled again later; 100 turns collection off until eviction strikes.',
  },
  imageGCLowThresholdPercent: {
    what: 'Disk use, in percent, down to which unused images are deleted.',
    needs: 'restart',
    why: collector,
    risk: 'Must lie below the high threshold; far below it, warm images are lost.',
  },
  containerRuntimeEndpoint: {
    what: 'Socket of the container runtime.',
    needs: 'reboot',
    why: 'Another runtime knows nothing of the containers of the old one. Those of DaemonSets and static pods survive a drain and hold ports and devices. The same socket written in another way, /var/run for /run, is not a change.',
    risk: 'A socket that does not answer stops the kubelet. Two runtimes with the same pods corrupt their state.',
    atBoot: 'At a boot the runtime may open its socket later than the kubelet starts.',
  },
  imageServiceEndpoint: {
    what: 'Socket of the image service, when it is not the runtime itself.',
    needs: 'restart',
    why: 'The connection is made at start; running containers do not need it.',
    risk: 'Images pulled there must be visible to the runtime, or no new container starts.',
  },
  runtimeRequestTimeout: {
    what: 'Time limit of runtime calls, pulls and streams apart.',
    needs: 'restart',
    why: 'The runtime client is built at start.',
    risk: 'Too short on a slow disk: containers are created twice and pods hang in ContainerCreating.',
  },
  containerLogMaxSize: {
    what: 'Size at which the log of a container is rotated.',
    needs: 'restart',
    why: rotator,
    risk: 'Lowered, large logs rotate at once and collectors may miss lines; raised, it counts against disk eviction.',
  },
  containerLogMaxFiles: {
    what: 'How many log files of a container are kept, the current one included.',
    needs: 'restart',
    why: rotator,
    risk: 'Lowered, older files are deleted at the next rotation and cannot be read back.',
  },
  containerLogMaxWorkers: {
    what: 'How many logs are rotated at the same time.',
    needs: 'restart',
    why: rotator,
    risk: 'Many workers compress at once and take CPU and disk from pods.',
  },
  containerLogMonitorInterval: {
    what: 'How often log sizes are checked.',
    needs: 'restart',
    why: rotator,
    risk: 'Long values let a chatty container exceed its size by far; short ones cost CPU.',
  },
  podLogsDir: {
    what: 'Directory of pod logs.',
    needs: 'drain',
    why: 'Running containers write on in the old directory, which the kubelet no longer cleans; restarted ones go to the new.',
    risk: 'Log collectors that mount the old directory see nothing; left-over logs fill the disk. Should be on the same file system.',
  },
};
