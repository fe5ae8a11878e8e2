import { z } from 'zod'
import { usdAmount } from '../platform/money/money-schema.ts'
import { secondsField } from '../platform/validation/setting-fields.ts'

const mib = 1024 * 1024

const absolutePath = z.string().regex(/^\/[^\0]*$/, 'must be an absolute path')

/** `containers` of headgate.yaml: the sandbox in which models run shell commands. Sizes in bytes, times in seconds. */
export const containerSettings = z.strictObject({
  /** `none`: containers are off. */
  engine: z.enum(['none', 'bubblewrap']).default('none'),
  /** A path, or a name to look for in the usual folders. */
  bwrap: z.string().min(1).default('bwrap'),
  /** Paths of this machine's file system that commands see, read-only. Missing ones are omitted. */
  system: z
    .array(absolutePath)
    .default([
      '/usr',
      '/bin',
      '/sbin',
      '/lib',
      '/lib32',
      '/lib64',
      '/etc/alternatives',
      '/etc/ld.so.cache',
      '/etc/ssl/certs',
      '/etc/ca-certificates',
    ]),
  /** The folder of the homes; null: in the data directory. Nodes that share it share the containers. */
  folder: absolutePath.nullable().default(null),
  /** The user and group of commands on this machine when the gateway runs as root. No other program may use them. */
  uid: z.int().min(1).max(4_294_967_294).default(64_999),
  /** Maximum seconds of one command, and the default where the caller names no other. */
  timeout: secondsField(120, 3600),
  /** Memory of all processes of a command. */
  memory_bytes: z
    .int()
    .min(16 * mib)
    .default(512 * mib),
  /** Processes and threads of a command. */
  processes: z.int().min(8).max(10_000).default(64),
  /** Size of a home. */
  home_bytes: z
    .int()
    .min(mib)
    .default(512 * mib),
  /**
   * Size of all homes of a workspace, and their number. Beyond either, those not used for the longest time are deleted.
   */
  workspace_bytes: z
    .int()
    .min(mib)
    .default(10 * 1024 * mib),
  per_workspace: z.int().min(1).max(10_000).default(1000),
  /** Free space on the disk of the homes: with less, commands are ended and no others start. */
  min_free_bytes: z
    .int()
    .min(0)
    .default(1024 * mib),
  /** Files and folders of a home. */
  home_files: z.int().min(10).max(100_000).default(20_000),
  /** Size of /tmp, which every command finds empty. */
  tmp_bytes: z
    .int()
    .min(mib)
    .default(64 * mib),
  /** Size of stdout and of stderr; the rest is cut off. */
  output_bytes: z
    .int()
    .min(1024)
    .max(64 * mib)
    .default(mib),
  /** Commands that run at the same time, on this node. */
  running: z.int().min(1).max(1000).default(16),
  running_per_workspace: z.int().min(1).max(1000).default(4),
  /** A container sleeps after this time without a command. */
  idle: secondsField(300, 86_400),
  /** Days after the last command until the home is deleted. */
  retention_days: z.int().min(1).max(3650).default(30),
  /** Price in USD for the time that a command runs. */
  price_per_second: usdAmount.prefault(0),
})

export type ContainerSettings = z.output<typeof containerSettings>
