import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ContainerEnvironment } from '../../src/containers/environment.ts'
import type { CommandResult, ContainerCommand } from '../../src/containers/run-command.ts'
import type { ContainerService } from '../../src/containers/service.ts'
import type { Tenant, TestServer } from './harness.ts'

/** Set by the test runner, which installs bubblewrap. It fails in CI when it cannot. */
export const bwrapPath = process.env.TEST_BWRAP ?? null

/** headgate.yaml with containers, where this machine can have them. */
export function formatContainerSettings(limits: Record<string, number> = {}): string {
  if (bwrapPath === null) return ''
  return `containers: ${JSON.stringify({ engine: 'bubblewrap', bwrap: bwrapPath, ...limits })}\n`
}

export function containersOf({ gateway }: TestServer): ContainerService {
  if (!gateway.containers) throw new Error('the server of this test has no containers')
  return gateway.containers
}

export function ownerOf({ organization, workspace }: Tenant) {
  return { organizationId: organization.id, workspaceId: workspace.id }
}

/** Starts the container of a session and runs one command in it. */
export async function runIn(
  server: TestServer,
  session: string,
  command: string,
  options: Partial<ContainerCommand> & { environment?: ContainerEnvironment; tenant?: Tenant } = {},
): Promise<CommandResult> {
  const { environment = { type: 'container_auto' }, tenant = server.own, ...rest } = options
  const origin = { sessionKey: session, generationId: 'gen-1' }
  const started = await containersOf(server).resolve(ownerOf(tenant), environment, origin)
  return containersOf(server).run(started, { signal: new AbortController().signal, command, ...rest })
}

let containerCount = 0

/** The path of a file in a new container. */
export async function createContainerFilePath(server: TestServer, tenant: Tenant): Promise<string> {
  const session = `sample-${++containerCount}`
  const { containerId, files } = await runIn(server, session, 'echo hello > note.txt', { tenant })
  return `/containers/${containerId}/files/${files[0]?.file_id}`
}

/** A folder that is removed after the work. */
export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-outside-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The processes of this machine whose command line has the text. */
export function findProcesses(text: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name) || name === String(process.pid)) return false
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

/** Waits for what the kernel does by itself shortly after. */
export async function waitUntil(check: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!check()) {
    if (performance.now() > deadline) throw new Error('it did not happen')
    await Bun.sleep(20)
  }
}
