import type { SandboxCommand } from './engine.ts'
import { homePath } from './engine.ts'
import type { Mount } from './system-files.ts'

/** File descriptors of the process: what is read from there is not in its command line, which every user can read. */
export const seccompFd = 3
export const argumentsFd = 4

/** Paths inside the sandbox of what the gateway mounts there. */
const sandboxFolder = '/run/headgate'
export const sandboxPaths = {
  command: `${sandboxFolder}/command`,
  proxySocket: `${sandboxFolder}/proxy.sock`,
  runtime: `${sandboxFolder}/bun`,
  forwarder: `${sandboxFolder}/forwarder.ts`,
}

/** The port of the proxy inside the sandbox. */
const proxyPort = 3128
const proxyUrl = `http://127.0.0.1:${proxyPort}`

const environment = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: homePath,
  USER: 'user',
  LOGNAME: 'user',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  TERM: 'dumb',
}

const proxyEnvironment = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'].map((name) => [
    name,
    proxyUrl,
  ]),
)

const isolation = [
  ...['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts'],
  ...['--unshare-cgroup-try', '--disable-userns', '--uid', '1000', '--gid', '1000'],
  ...['--hostname', 'container', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
  ...['--seccomp', String(seccompFd)],
]

/** /dev and everything outside of the home, /tmp and /dev/shm is read-only. */
export function buildSandboxArguments(
  { limits, proxySocket }: Pick<SandboxCommand, 'limits' | 'proxySocket'>,
  systemArguments: readonly string[],
  mounts: readonly Mount[],
): string[] {
  const size = ['--size', String(limits.tmpBytes)]
  const variables = { ...environment, ...(proxySocket !== null && proxyEnvironment) }
  return [
    ...isolation,
    ...systemArguments,
    ...['--proc', '/proc', '--dev', '/dev', ...size, '--perms', '1777', '--tmpfs', '/dev/shm'],
    ...['--remount-ro', '/dev', ...size, '--perms', '1777', '--tmpfs', '/tmp'],
    ...mounts.flatMap(({ source, target, isWritable }) => [
      isWritable ? '--bind' : '--ro-bind',
      source,
      target,
    ]),
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--remount-ro', '/', '--chdir', homePath],
  ]
}

/** Threads of the forwarder count as processes of the sandbox. */
const forwarderThreads = 48
/** The first process of the sandbox and the shell that starts the command. */
const ownProcesses = 2

/**
 * The forwarder reserves more address space than a command may have, so it starts before the limits apply. The
 * variable makes a compiled server the runtime that it contains.
 */
const startForwarder = `BUN_BE_BUN=1 "${sandboxPaths.runtime}" "${sandboxPaths.forwarder}" ${proxyPort} "${sandboxPaths.proxySocket}" </dev/null >/dev/null 2>&1 &
disown
for _ in {1..250}; do (: <>/dev/tcp/127.0.0.1/${proxyPort}) 2>/dev/null && break; sleep 0.02; done
`

/** Runtimes such as those of JavaScript and Java reserve gigabytes of addresses that they never use. */
const reservedBytes = 16 * 1024 ** 3

/** The shell that sets the limits and becomes the command. They cannot be raised again. */
export function buildShellArguments({ limits, proxySocket }: SandboxCommand, shell: string): string[] {
  const kib = (bytes: number) => Math.ceil(bytes / 1024)
  const processes = limits.processes + ownProcesses + (proxySocket === null ? 0 : forwarderThreads)
  const script = `${proxySocket === null ? '' : startForwarder}ulimit -c 0 -n 256 -l 0 -q 0 \
-f ${kib(limits.fileBytes)} -u ${processes} \
-d ${kib(limits.memoryBytes)} -v ${kib(limits.memoryBytes + reservedBytes)} -t ${Math.ceil(limits.timeoutMs / 1000)} || exit 125
exec "${shell}" "${sandboxPaths.command}"`
  return [shell, '--noprofile', '--norc', '-c', script]
}

/** Folder in which the outer sandbox of root shows what the inner one mounts. */
const stageFolder = '/tmp'

/**
 * Stages mounts for a gateway that runs as root: a first sandbox shows them at a place that an unprivileged user can
 * reach, then the process becomes that user: not even a flaw of the kernel's user namespaces makes a command root.
 */
export function stageMounts(mounts: readonly Mount[]): { staged: Mount[]; stageArguments: string[] } {
  const staged = mounts.map((mount, index) => ({ ...mount, source: `${stageFolder}/${index}` }))
  const binds = mounts.flatMap(({ source }, index) => ['--bind', source, `${stageFolder}/${index}`])
  return {
    staged,
    stageArguments: [
      ...['--dev-bind', '/', '/', '--tmpfs', stageFolder, ...binds],
      // A namespace of processes of its own: a process that becomes another user no longer ends with its parent.
      ...['--unshare-pid', '--die-with-parent', '--'],
    ],
  }
}

export function buildDropArguments(setpriv: string, uid: number): string[] {
  const id = String(uid)
  return [
    ...[setpriv, '--reuid', id, '--regid', id, '--clear-groups', '--no-new-privs'],
    ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--'],
  ]
}
