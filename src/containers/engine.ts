/** The limits of one command. */
export interface SandboxLimits {
  timeoutMs: number
  /** Bytes per process; the sum is watched while they run. */
  memoryBytes: number
  processes: number
  /** Bytes per file. */
  fileBytes: number
  tmpBytes: number
}

export interface SandboxCommand {
  /** A folder of this machine, which the command sees as its home. */
  home: string
  command: string
  limits: SandboxLimits
  /** The unix socket of a proxy on this machine: the only way out. Null: no network. */
  proxySocket: string | null
}

/** A command that runs. */
export interface SandboxProcess {
  readonly stdout: ReadableStream<Uint8Array>
  readonly stderr: ReadableStream<Uint8Array>
  /** The exit code, once every process of the command has ended. */
  readonly exited: Promise<number>
  /** The process on this machine below which all processes of the command are. */
  readonly pid: number
  /** Ends every process of the command at once. */
  kill(): void
}

/** Runs untrusted commands. Each has a sandbox of its own, which ends with it. */
export interface SandboxEngine {
  /** The user that owns the files of a home; null: that of the gateway. */
  readonly owner: number | null
  /** Throws a ConfigError that names what is missing. */
  check(limits: SandboxLimits): Promise<void>
  start(command: SandboxCommand): Promise<SandboxProcess>
  close(): Promise<void>
}

/** The path at which commands see their home. */
export const homePath = '/workspace/home'
