import { findAttachedFiles } from '../../containers/attached-files.ts'
import type { ContainerEnvironment } from '../../containers/environment.ts'
import type { ContainerOrigin } from '../../containers/ids.ts'
import type { CommandResult, ContainerFileCitation } from '../../containers/run-command.ts'
import type { ContainerService } from '../../containers/service.ts'
import type { ContainerOwner } from '../../containers/session.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ToolFee, ToolRequest, ToolRun, ToolSetup } from './tool.ts'

type ContainerSession = Awaited<ReturnType<ContainerService['resolve']>>

/** Characters of stdout and of stderr in a result, unless the model sets another length. */
const defaultOutputLength = 20_000
/** Time to wait for other commands of the container. */
const queueMs = 30_000

export interface CommandOptions {
  timeoutMs?: number | undefined
  maxOutputLength?: number | undefined
}

/** The container of one entry of `tools`, started when the model first uses it. */
export class ContainerCommands {
  readonly #containers: ContainerService
  readonly #environment: ContainerEnvironment
  #session: Promise<ContainerSession> | null = null

  private constructor(containers: ContainerService, environment: ContainerEnvironment) {
    this.#containers = containers
    this.#environment = environment
  }

  static async open(
    setup: ToolSetup,
    environment: ContainerEnvironment = { type: 'container_auto' },
  ): Promise<ContainerCommands> {
    const { gateway, caller, region, at } = setup
    if (region !== 'global')
      throw gatewayError('region_refused', `${at}.type: containers are not available on regional hosts.`)
    if (!gateway.containers)
      throw invalidFieldError(
        `${at}.type`,
        'needs containers, which this server does not have; the operator can enable them with containers.engine',
      )
    // Unknown files and another policy are errors of the request, not of a call.
    await findAttachedFiles(gateway.db, caller.key.workspace_id, environment.file_ids ?? [])
    await gateway.containers.assertPolicy(ownerOf(setup), environment, originOf(setup))
    return new ContainerCommands(gateway.containers, environment)
  }

  /** Milliseconds for all commands of a call. */
  static timeoutOf({ gateway }: ToolRequest): number {
    return gateway.settings.containers.timeout + queueMs
  }

  async run(run: ToolRun, command: string, options: CommandOptions = {}): Promise<CommandResult> {
    const { price_per_second, timeout } = run.gateway.settings.containers
    const timeoutMs = Math.min(options.timeoutMs ?? timeout, timeout)
    await run.reserve((price_per_second * BigInt(timeoutMs)) / 1000n)
    this.#session ??= this.#start(run)
    return this.#containers.run(await this.#session, {
      command,
      timeoutMs,
      maxOutputLength: options.maxOutputLength ?? defaultOutputLength,
      signal: run.signal,
    })
  }

  #start(run: ToolRun): Promise<ContainerSession> {
    return this.#containers.resolve(ownerOf(run), this.#environment, originOf(run))
  }
}

function ownerOf({ caller }: ToolRequest): ContainerOwner {
  return { organizationId: caller.organizationId, workspaceId: caller.key.workspace_id }
}

function originOf({ sessionId, id }: ToolRequest): ContainerOrigin {
  return { sessionKey: sessionId ?? undefined, generationId: id }
}

/** The price of the time that commands ran; none if it is free. */
export function buildFees(results: readonly CommandResult[]): ToolFee[] {
  const nanos = results.reduce((sum, { costNanos }) => sum + costNanos, 0n)
  const milliseconds = results.reduce((sum, { elapsedMs }) => sum + elapsedMs, 0)
  return nanos === 0n ? [] : [{ name: 'container', quantity: Math.ceil(milliseconds / 1000), nanos }]
}

const maxCitations = 10

/** Merges the citations of files that commands have changed, each once. */
export function mergeCitations(results: readonly CommandResult[]): ContainerFileCitation[] {
  const byId = new Map(results.flatMap(({ files }) => files.map((file) => [file.file_id, file] as const)))
  return [...byId.values()].slice(0, maxCitations)
}

export function describeOutcome({ timedOut, exitCode }: CommandResult): JsonObject {
  return timedOut ? { type: 'timeout' } : { type: 'exit', exit_code: exitCode }
}
