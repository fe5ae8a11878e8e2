import { modelListFormats } from '../../catalog/discovery/formats/all.ts'
import { type ListedModel, listedModel } from '../../catalog/discovery/listed-model.ts'
import type { ModelListFormat } from '../../catalog/discovery/model-list-format.ts'
import type { CatalogProvider } from '../../catalog/model.ts'
import { upstreamFormats } from '../../formats/all.ts'
import { isTextWireFormat } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { UpstreamError } from '../failures/errors.ts'
import { type ProviderAccess, resolveInstallationAccess } from './access.ts'
import { readJsonBody } from './decode-reply.ts'
import { UpstreamExchange } from './exchange.ts'
import { send } from './send.ts'
import { createFailedOutcome, type TestOutcome, toFailedOutcome } from './test-outcome.ts'

/** Bounds of one list: it is as long as its server says. */
const maxModels = 5000
const maxPages = 50
const maxPageBytes = 16 * 1024 * 1024
const maxDetails = 200
const parallelDetails = 4
const maxNameLength = 200
const timeoutMs = 30_000

export interface ListOutcome {
  /** Null if the list could not be read; the test says why. */
  models: ListedModel[] | null
  test: TestOutcome
}

/** The format of a provider's list; null if it has none. */
export function findListFormat({ modelList, wireFormats: names, inProcess }: CatalogProvider) {
  if (inProcess || modelList === 'none') return null
  if (modelList) return modelListFormats[modelList]
  if (names[0] === 'messages') return modelListFormats.anthropic
  return names[0] === 'gemini' ? modelListFormats.gemini : modelListFormats.openai
}

/** Reads the list of models of a provider, with the installation's credential. */
export async function listProviderModels(gateway: Gateway, provider: CatalogProvider): Promise<ListOutcome> {
  const format: ModelListFormat | null = findListFormat(provider)
  const access = resolveInstallationAccess(provider)
  if (!format) return fail('The gateway reads no list of models from this provider.')
  if (access.problem !== null || !provider.enabled)
    return fail(provider.installation.problem ?? 'The installation has no credential for this provider.')
  const exchange = new UpstreamExchange(new AbortController().signal, gateway)
  exchange.setTimeout(timeoutMs)
  const startedAt = performance.now()
  try {
    const models = await readPages(new ListReader(gateway, exchange, access), format)
    return { models, test: succeed(models.length, performance.now() - startedAt) }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return { models: null, test: toFailedOutcome(error) }
  } finally {
    exchange.release()
  }
}

function fail(message: string): ListOutcome {
  return { models: null, test: createFailedOutcome('credential', { message }) }
}

function succeed(count: number, ms: number): TestOutcome {
  return {
    ok: true,
    model: null,
    endpoint: null,
    duration_ms: Math.round(ms),
    failed_step: null,
    status: 200,
    message: `The provider accepted the credential and listed ${count} models.`,
    remedy: null,
    provider_message: null,
  }
}

/** Sends the requests of one list. */
class ListReader {
  readonly #gateway: Gateway
  readonly #exchange: UpstreamExchange
  readonly access: ProviderAccess

  constructor(gateway: Gateway, exchange: UpstreamExchange, access: ProviderAccess) {
    this.#gateway = gateway
    this.#exchange = exchange
    this.access = access
  }

  async read(address: string, body?: JsonObject): Promise<JsonObject> {
    const { provider, baseUrl } = this.access
    const url = new URL(address)
    const name = provider.wireFormats.find(isTextWireFormat) ?? 'chat'
    const isConfiguredOrigin = url.origin === new URL(baseUrl).origin
    const response = await send(this.#gateway, this.#exchange, {
      ...(body === undefined && { method: 'GET' as const }),
      path: url.pathname + url.search,
      // The operator's headers may be secrets of the configured server.
      headers: isConfiguredOrigin ? (provider.headers ?? {}) : {},
      body: body === undefined ? null : JSON.stringify(body),
      upstream: upstreamFormats[name].upstream,
      access: { ...this.access, baseUrl: url.origin },
      isAdapted: false,
    })
    return readJsonBody(this.#exchange, { ...response, maxBytes: maxPageBytes })
  }
}

async function readPages(reader: ListReader, format: ModelListFormat): Promise<ListedModel[]> {
  const { baseUrl } = reader.access
  const models = new Map<string, ListedModel>()
  let cursor: string | null = null
  for (let page = 0; page < maxPages && models.size < maxModels; page++) {
    const decoded = format.decode(await reader.read(format.buildUrl(baseUrl, cursor)), cursor)
    for (const model of decoded.models)
      if (isListable(model)) models.set(model.id, addDialects(reader, model))
    cursor = decoded.next
    if (cursor === null) break
  }
  const sorted = [...models.values()].slice(0, maxModels).sort((a, b) => (a.id < b.id ? -1 : 1))
  return format.details ? addDetails(reader, format.details, sorted) : sorted
}

function addDialects({ access }: ListReader, model: ListedModel): ListedModel {
  const dialects = model.dialects ?? access.provider.listDialects?.(model.id)
  return dialects ? { ...model, dialects } : model
}

function isListable(model: ListedModel): boolean {
  return model.id.length <= maxNameLength && listedModel.safeParse(model).success
}

/** Models without details stay in the list: one that is being deleted must not hide the others. */
async function addDetails(
  reader: ListReader,
  { buildUrl, buildBody, decode }: NonNullable<ModelListFormat['details']>,
  models: ListedModel[],
): Promise<ListedModel[]> {
  const detailed: ListedModel[] = []
  for (let start = 0; start < models.length; start += parallelDetails) {
    const group = models.slice(start, start + parallelDetails)
    const read = async (model: ListedModel) => {
      if (start >= maxDetails) return model
      try {
        return decode(model, await reader.read(buildUrl(reader.access.baseUrl), buildBody(model.id)))
      } catch (error) {
        if (error instanceof UpstreamError && error.failure.status !== null) return model
        throw error
      }
    }
    detailed.push(...(await Promise.all(group.map(read))))
  }
  return detailed
}
