/** What the agent needs to know of the kubelet's command line; flags.ts reads it as the kubelet would. */

export interface KubeletCommandLine {
  /** All the kubelet's flags; with a dynamic config its file instead of --config and --config-dir. */
  args(configFile: string | undefined): string[];
  /** The local config as it is now: the files of --config and --config-dir, name → bytes. Missing files are left out. */
  localFiles(): Map<string, Uint8Array>;
}
