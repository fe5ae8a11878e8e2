import type { FileHandle } from 'node:fs/promises'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { findAttachedFiles } from './attached-files.ts'
import type { ContainerEnvironment } from './environment.ts'
import { openHomeFile } from './home-file.ts'
import { type HomePage, HomeReader } from './home-reader.ts'
import { HomeFolder } from './homes.ts'
import { type ContainerOrigin, formatContainerId } from './ids.ts'
import { deleteExpiredContainers, makeRoom } from './retention.ts'
import {
  type CommandResult,
  type ContainerCommand,
  type ContainerHost,
  type ContainerSession,
  computeCost,
  countedEntriesOf,
  runCommand,
  toSandboxLimits,
} from './run-command.ts'
import {
  assertHere,
  assertPolicy,
  type ContainerOwner,
  containerNotFoundError,
  openContainer,
} from './session.ts'
import { CommandSlots } from './slots.ts'
import { type Container, findContainer } from './store.ts'

export type { ContainerSession } from './run-command.ts'

export interface ContainerParts extends Pick<ContainerHost, 'db' | 'clock' | 'engine' | 'openFile'> {
  folder: string
  /** Reads the settings in effect: headgate.yaml may be reloaded. */
  readSettings: () => Pick<ContainerHost, 'settings' | 'egress'>
}

const maxCommandLength = 256 * 1024

/** The containers in which models run shell commands. Each command has a sandbox of its own; what lasts is the home. */
export class ContainerService {
  readonly #parts: ContainerParts
  readonly #homes: HomeFolder
  readonly #reader = new HomeReader()
  readonly #slots = new CommandSlots()

  constructor(parts: ContainerParts) {
    this.#parts = parts
    this.#homes = new HomeFolder(parts.folder, parts.engine.owner)
  }

  /** Throws a ConfigError if commands cannot be run on this machine. */
  async check(): Promise<void> {
    await this.#homes.id()
    await this.#parts.engine.check(toSandboxLimits(this.#host.settings))
  }

  /** Throws 409 if the container is awake with another network policy, before it is started. */
  assertPolicy(
    owner: ContainerOwner,
    environment: ContainerEnvironment,
    origin: ContainerOrigin,
  ): Promise<void> {
    return assertPolicy(this.#host, owner, environment, origin)
  }

  /** Starts the container that `environment` names, or that of the session, with the files that it is given. */
  async resolve(
    owner: ContainerOwner,
    environment: ContainerEnvironment,
    origin: ContainerOrigin,
  ): Promise<ContainerSession> {
    const host = this.#host
    const files = await findAttachedFiles(host.db, owner.workspaceId, environment.file_ids ?? [])
    const room = (isNew: boolean) => makeRoom(host, owner.workspaceId, { isNew })
    const parts = { ...host, makeRoom: () => room(true) }
    const container = await openContainer(parts, owner, environment, origin)
    await room(false)
    return { containerId: formatContainerId(container.id, container.nonce), container, files }
  }

  /** Runs a command. Those of one container run one after the other. */
  async run(session: ContainerSession, command: ContainerCommand): Promise<CommandResult> {
    if (command.command.length > maxCommandLength)
      throw invalidFieldError('command', `must have at most ${maxCommandLength} characters`)
    const host = this.#host
    const { workspace_id: workspaceId, home } = session.container
    return this.#slots.run({ workspaceId, home, limits: host.settings }, () =>
      runCommand(host, session, command),
    )
  }

  /** The most that a command can cost: the price of its whole time. */
  maxCostNanos(timeoutMs?: number): bigint {
    const { settings } = this.#host
    return computeCost(settings, toSandboxLimits(settings, timeoutMs).timeoutMs)
  }

  /** A container of the workspace whose files can be read here. */
  async find(workspaceId: string, id: string): Promise<Container> {
    const container = await findContainer(this.#parts.db, workspaceId, id)
    if (!container) throw containerNotFoundError()
    await assertHere(this.#homes, container)
    return container
  }

  async listFiles({ home }: Container, page: { after: string | null; limit: number }): Promise<HomePage> {
    const maxEntries = countedEntriesOf(this.#host.settings)
    return this.#reader.listPage(this.#homes.resolve(home), { maxEntries, ...page })
  }

  /** The caller closes it. Null if the home has no such file. */
  async openFile({ home }: Container, path: string): Promise<FileHandle | null> {
    return openHomeFile(this.#homes.resolve(home), path)
  }

  async deleteExpired(): Promise<void> {
    await deleteExpiredContainers(this.#host)
  }

  async close(): Promise<void> {
    this.#reader.close()
    await this.#parts.engine.close()
  }

  get #host(): ContainerHost {
    const { db, clock, engine, openFile, readSettings } = this.#parts
    return { db, clock, engine, openFile, homes: this.#homes, reader: this.#reader, ...readSettings() }
  }
}
