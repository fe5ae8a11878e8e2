import { basename } from 'node:path'
import type { Db } from '../platform/db/db.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import type { EgressOptions } from '../platform/http/egress-client.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import type { StoredFile } from '../storage/stored-files.ts'
import { copyAttachedFiles, type FileOpener } from './attached-files.ts'
import type { SandboxEngine, SandboxLimits } from './engine.ts'
import type { NetworkPolicy } from './environment.ts'
import type { HomeReader } from './home-reader.ts'
import type { HomeSize } from './home-tree.ts'
import type { HomeFolder } from './homes.ts'
import { toContainerFileId } from './ids.ts'
import { withNetwork } from './network.ts'
import { containerNotFoundError } from './session.ts'
import type { ContainerSettings } from './settings.ts'
import { type Container, updateContainer } from './store.ts'
import { type CommandEnd, readFreeBytes, superviseCommand } from './supervise.ts'

/** The parts that run commands. */
export interface ContainerHost {
  db: Db
  clock: Clock
  engine: SandboxEngine
  homes: HomeFolder
  reader: HomeReader
  settings: ContainerSettings
  egress: EgressOptions
  openFile: FileOpener
}

/** A container that a request has started, and the files attached to it. */
export interface ContainerSession {
  /** Id that clients see. */
  containerId: string
  container: Container
  files: readonly StoredFile[]
}

export interface ContainerCommand {
  /** A script for bash. */
  command: string
  /** Time limit, at most `containers.timeout`, which is also the default. */
  timeoutMs?: number | undefined
  /** Characters of stdout and of stderr. */
  maxOutputLength?: number | undefined
  signal: AbortSignal
}

/** A file that a command has changed, as clients see it. */
export interface ContainerFileCitation {
  type: 'container_file_citation'
  container_id: string
  file_id: string
  filename: string
  start_index: number
  end_index: number
}

export interface CommandResult extends CommandEnd {
  containerId: string
  timedOut: boolean
  files: ContainerFileCitation[]
  costNanos: bigint
}

const maxCitations = 10
/** A home may have become this many times too large before its command was ended; it can still be cleaned up. */
const countedShare = 4

/** Maximum files and folders of a home that are counted. */
export function countedEntriesOf({ home_files }: ContainerSettings): number {
  return home_files * countedShare
}

/** Runs a command in the home of a container. Changes of the home persist. */
export async function runCommand(
  host: ContainerHost,
  { container, containerId, files }: ContainerSession,
  { command, timeoutMs, maxOutputLength, signal }: ContainerCommand,
): Promise<CommandResult> {
  const { db, clock, engine, homes, reader, settings } = host
  await touch(host, container)
  const home = homes.resolve(container.home)
  const maxHome = await prepareHome(host, home, files)
  const limits = toSandboxLimits(settings, timeoutMs)
  const since = await homes.readTime()
  const end = await withNetwork(readPolicy(container), host.egress, (proxySocket) =>
    superviseCommand(engine, reader, {
      home,
      command,
      limits,
      proxySocket,
      maxHome,
      countedEntries: countedEntriesOf(settings),
      minFreeBytes: settings.min_free_bytes,
      outputBytes: settings.output_bytes,
      maxOutputLength: maxOutputLength ?? settings.output_bytes,
      signal,
    }),
  )
  const { bytes } = await reader.measure(home, countedEntriesOf(settings))
  await updateContainer(db, container, { size_bytes: bytes, last_used_at: isoNow(clock) })
  return {
    ...end,
    containerId,
    timedOut: end.stopReason === 'timeout',
    files: await citeChanges(host, { containerId, home, since }),
    costNanos: computeCost(settings, Math.min(end.elapsedMs, limits.timeoutMs)),
  }
}

async function touch({ db, clock }: ContainerHost, container: Container): Promise<void> {
  const touched = await updateContainer(db, container, { last_used_at: isoNow(clock) })
  if (!touched) throw containerNotFoundError()
}

/** Rounded up. */
export function computeCost({ price_per_second }: ContainerSettings, ms: number): bigint {
  return (price_per_second * BigInt(Math.ceil(ms)) + 999n) / 1000n
}

export function toSandboxLimits(settings: ContainerSettings, timeoutMs = settings.timeout): SandboxLimits {
  return {
    timeoutMs: Math.min(timeoutMs, settings.timeout),
    memoryBytes: settings.memory_bytes,
    processes: settings.processes,
    fileBytes: settings.home_bytes,
    tmpBytes: settings.tmp_bytes,
  }
}

/** Copies the attached files, and returns the size limit of the home: one that is too large may not grow. */
async function prepareHome(
  { reader, settings, openFile, engine }: ContainerHost,
  home: string,
  files: readonly StoredFile[],
): Promise<HomeSize> {
  if ((await readFreeBytes(home)) < settings.min_free_bytes) throw diskFullError()
  const { bytes, entries } = await reader.measure(home, countedEntriesOf(settings))
  if (entries > countedEntriesOf(settings))
    throw gatewayError(
      'storage_full',
      'The home of the container has far too many files or folders, or one that cannot be read. Use another container.',
    )
  await copyAttachedFiles(home, files, {
    openFile,
    owner: engine.owner,
    freeBytes: settings.home_bytes - bytes,
  })
  return { bytes: Math.max(bytes, settings.home_bytes), entries: Math.max(entries, settings.home_files) }
}

function diskFullError() {
  return gatewayError('unavailable', 'The disk for containers is almost full. Retry later.')
}

function readPolicy({ network_policy }: Container): NetworkPolicy {
  return JSON.parse(network_policy)
}

async function citeChanges(
  { reader, settings }: ContainerHost,
  { containerId, home, since }: { containerId: string; home: string; since: number },
): Promise<ContainerFileCitation[]> {
  const files = await reader.listChanged(home, {
    maxEntries: countedEntriesOf(settings),
    since,
    limit: maxCitations,
  })
  return files.map(({ path }) => ({
    type: 'container_file_citation',
    container_id: containerId,
    file_id: toContainerFileId(path),
    filename: basename(path),
    start_index: 0,
    end_index: 0,
  }))
}
