import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Subprocess } from 'bun'
import { ConfigError } from '../config.ts'
import {
  argumentsFd,
  buildDropArguments,
  buildSandboxArguments,
  buildShellArguments,
  sandboxPaths,
  stageMounts,
} from './bubblewrap-arguments.ts'
import {
  homePath,
  type SandboxCommand,
  type SandboxEngine,
  type SandboxLimits,
  type SandboxProcess,
} from './engine.ts'
import { buildSeccompFilter } from './seccomp.ts'
import type { ContainerSettings } from './settings.ts'
import { buildSystemArguments, etcFiles, findProgram, type Mount } from './system-files.ts'

/** `--disable-userns` came with it. */
const minVersion = [0, 8] as const
/** Commands yield the processor to the gateway. */
const niceness = 10

interface Tools {
  bwrap: string
  shell: string
  /** Null unless the gateway runs as root. */
  setpriv: string | null
  /** The folder for scripts and sockets of commands. */
  folder: string
  systemArguments: string[]
}

/** Runs commands with bubblewrap: namespaces, a seccomp filter and limits of the Linux kernel. */
export class Bubblewrap implements SandboxEngine {
  readonly #settings: Pick<ContainerSettings, 'bwrap' | 'system' | 'uid'>
  readonly #isRoot: boolean
  #tools: Promise<Tools> | null = null

  constructor(settings: Pick<ContainerSettings, 'bwrap' | 'system' | 'uid'>) {
    this.#settings = settings
    this.#isRoot = process.getuid?.() === 0
  }

  get owner(): number | null {
    return this.#isRoot ? this.#settings.uid : null
  }

  async check(limits: SandboxLimits): Promise<void> {
    const { bwrap, folder } = await this.#prepare()
    await assertVersion(bwrap)
    const home = await mkdtemp(join(folder, 'check-'))
    try {
      if (this.owner !== null) await chmod(home, 0o777)
      const started = await this.start({ home, command: 'true', limits, proxySocket: null })
      const [exitCode, stderr] = await Promise.all([started.exited, new Response(started.stderr).text()])
      if (exitCode !== 0) throw unusableError(describeFailure(stderr))
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  }

  async start(command: SandboxCommand): Promise<SandboxProcess> {
    const tools = await this.#prepare()
    const folder = await mkdtemp(join(tools.folder, 'run-'))
    const release = () => rm(folder, { recursive: true, force: true })
    try {
      const mounts = await prepareMounts(command, folder, tools.folder)
      const child = await this.#spawn(tools, command, mounts, folder)
      return toSandboxProcess(child, release)
    } catch (error) {
      await release()
      throw error
    }
  }

  async close(): Promise<void> {
    const tools = await this.#tools?.catch(() => null)
    if (tools) await rm(tools.folder, { recursive: true, force: true })
    this.#tools = null
  }

  #prepare(): Promise<Tools> {
    this.#tools ??= this.#findTools()
    return this.#tools
  }

  async #findTools(): Promise<Tools> {
    if (process.platform !== 'linux') throw unusableError('it needs Linux')
    if (!existsSync(`/proc/self/task/${process.pid}/children`))
      throw unusableError('the kernel does not list child processes (CONFIG_PROC_CHILDREN)')
    const filter = buildSeccompFilter()
    if (!filter) throw unusableError(`it has no system call filter for the architecture ${process.arch}`)
    const { bwrap: name, system } = this.#settings
    const bwrap = findProgram(name)
    if (!bwrap)
      throw unusableError(`the program ${name} was not found. Install bubblewrap, or set containers.bwrap`)
    const shell = findProgram('bash')
    if (!shell) throw unusableError('the program bash was not found. Install it')
    const setpriv = this.#isRoot ? findProgram('setpriv') : null
    if (this.#isRoot && !setpriv)
      throw unusableError('the program setpriv was not found. Install util-linux, or do not run as root')
    const folder = await mkdtemp(join(tmpdir(), 'headgate-containers-'))
    await writeFile(join(folder, 'seccomp'), filter)
    await mkdir(join(folder, 'etc'))
    for (const [file, text] of Object.entries(etcFiles)) await writeReadable(join(folder, 'etc', file), text)
    return { bwrap, shell, setpriv, folder, systemArguments: buildSystemArguments(system) }
  }

  async #spawn(
    { bwrap, shell, setpriv, folder: toolsFolder, systemArguments }: Tools,
    command: SandboxCommand,
    mounts: Mount[],
    folder: string,
  ): Promise<Subprocess<'ignore', 'pipe', 'pipe'>> {
    const { staged, stageArguments } = stageMounts(mounts)
    const prefix =
      setpriv === null ? [] : [bwrap, ...stageArguments, ...buildDropArguments(setpriv, this.#settings.uid)]
    const inner = buildSandboxArguments(command, systemArguments, setpriv === null ? mounts : staged)
    const argumentsPath = join(folder, 'arguments')
    await writeFile(argumentsPath, inner.map((argument) => `${argument}\0`).join(''))
    const files = [await open(join(toolsFolder, 'seccomp')), await open(argumentsPath)] as const
    try {
      return Bun.spawn(
        [...prefix, bwrap, '--args', String(argumentsFd), '--', ...buildShellArguments(command, shell)],
        // Nothing of the gateway's environment: the first process of a sandbox shows its own to the others.
        { env: {}, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe', files[0].fd, files[1].fd] },
      )
    } finally {
      for (const file of files) await file.close()
    }
  }
}

/** Prepares everything that a sandbox sees besides the system. */
async function prepareMounts(
  { home, command, proxySocket }: SandboxCommand,
  folder: string,
  toolsFolder: string,
): Promise<Mount[]> {
  const commandPath = join(folder, 'command')
  await writeReadable(commandPath, command)
  const network = proxySocket === null ? [] : await prepareNetwork(proxySocket, folder)
  return [
    ...Object.keys(etcFiles).map((file) => ({
      source: join(toolsFolder, 'etc', file),
      target: `/etc/${file}`,
    })),
    { source: home, target: homePath, isWritable: true },
    { source: commandPath, target: sandboxPaths.command },
    ...network,
  ]
}

/** The source of the forwarder is copied: in an executable it is no file that a sandbox can see. */
async function prepareNetwork(proxySocket: string, folder: string): Promise<Mount[]> {
  const forwarder = join(folder, 'forwarder.ts')
  await writeReadable(forwarder, await readFile(new URL('./forwarder.ts', import.meta.url), 'utf8'))
  return [
    { source: proxySocket, target: sandboxPaths.proxySocket },
    { source: process.execPath, target: sandboxPaths.runtime },
    { source: forwarder, target: sandboxPaths.forwarder },
  ]
}

/** The process that reads it may be of another user; the folder around it is private. */
async function writeReadable(path: string, text: string): Promise<void> {
  await writeFile(path, text)
  await chmod(path, 0o644)
}

function toSandboxProcess(
  child: Subprocess<'ignore', 'pipe', 'pipe'>,
  release: () => Promise<void>,
): SandboxProcess {
  lowerPriority(child.pid)
  return {
    stdout: child.stdout,
    stderr: child.stderr,
    pid: child.pid,
    exited: child.exited.finally(release),
    kill: () => killGroup(child),
  }
}

/**
 * The group, because a sandbox ends with its parent only once it is set up: killed earlier, bubblewrap would leave a
 * child that waits for it, with the output open.
 */
function killGroup(child: Subprocess): void {
  if (child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, niceness)
  } catch {
    // It has ended already.
  }
}

async function assertVersion(bwrap: string): Promise<void> {
  const { stdout } = Bun.spawn([bwrap, '--version'], { env: {}, stdio: ['ignore', 'pipe', 'ignore'] })
  const text = (await new Response(stdout).text()).trim()
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(text) ?? []
  if (Number(major) > minVersion[0] || Number(minor) >= minVersion[1]) return
  throw unusableError(`${text || bwrap} is too old. Install version ${minVersion.join('.')} or newer`)
}

/** The first line that bubblewrap or the shell wrote, and what usually helps. */
function describeFailure(stderr: string): string {
  const line = stderr.trim().split('\n')[0] ?? ''
  const restriction = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'
  const isNamespaceProblem = /namespace|uid map|Operation not permitted|No space left|proc on/i.test(line)
  if (!isNamespaceProblem) return `a test command failed: ${line}`
  const remedy = existsSync(restriction)
    ? 'Set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0, or give bwrap an AppArmor profile with userns'
    : 'Allow unprivileged user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone); in a container, also its seccomp and AppArmor profiles and masked paths'
  return `this machine does not permit user namespaces (${line}). ${remedy}`
}

function unusableError(reason: string): ConfigError {
  return new ConfigError(`containers.engine: bubblewrap cannot be used: ${reason}.`)
}
