import type { z } from 'zod'
import { findModel } from '../../catalog/lookup.ts'
import { type ModelCall, serverToolPrefix } from '../../formats/call/call.ts'
import { webFetch as parameters } from '../../formats/schema/server-tools.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type ChosenEngine, chooseEngine } from '../web/choose-engine.ts'
import { findDomainBlock } from '../web/domains.ts'
import { pricePageWorstCase, readEnginePage } from '../web/engine-page.ts'
import { searchEngines } from '../web/engines/all.ts'
import { type FetchOptions, type PageError, pageError } from '../web/fetch-page.ts'
import { parseDomainRules } from '../web/prepare.ts'
import { readPage, resolveMaxTokens, type WebPage } from '../web/read-page.ts'
import { defineServerTool, type ToolFee, type ToolOutcome, type ToolRun, type ToolSetup } from './tool.ts'

type Parameters = z.output<typeof parameters>

const name = 'web_fetch'
/** Pages that one request may read, with all entries of the tool. */
const maxPages = 50
const charactersPerToken = 4

export const webFetch = defineServerTool({
  name,
  formats: ['chat', 'messages', 'responses'],
  isGlobal: true,
  parameters,
  create: (settings: Parameters, setup) => {
    const session = createSession(settings, setup)
    const { web } = setup.gateway.settings
    return {
      functions: [
        {
          kind: 'function',
          name,
          description: 'Reads a page of the web. Returns its title and its text.',
          schema: {
            type: 'object',
            properties: { url: { type: 'string', description: 'The http or https URL of the page.' } },
            required: ['url'],
          },
        },
      ],
      describe: () => ({ item: { type: `${serverToolPrefix}${name}` } }),
      timeoutMs: web.fetch.timeout + web.timeout * (session.chosen?.accesses.length ?? 0) + 15_000,
      run: async (_call, run) => runFetch(session, run),
    }
  },
})

interface FetchSession extends Pick<FetchOptions, 'allowedDomains' | 'blockedDomains'> {
  /** The engine that reads the pages; null: the gateway reads them itself. */
  chosen: ChosenEngine | null
  maxContentTokens: number
  maxUses: number
  uses: number
}

function createSession(settings: Parameters, setup: ToolSetup): FetchSession {
  const at = `${setup.at}.parameters`
  const { gateway } = setup
  const chosen = choosePageReader(setup, settings.engine)
  if (chosen === null && !gateway.settings.web.fetch.enabled)
    throw invalidFieldError(`${at}.engine`, 'reading pages is disabled on this server (web.fetch.enabled)')
  return {
    chosen,
    allowedDomains: parseDomainRules(settings.allowed_domains, `${at}.allowed_domains`),
    blockedDomains: parseDomainRules(settings.blocked_domains, `${at}.blocked_domains`),
    maxContentTokens: resolveMaxTokens(gateway, settings.max_content_tokens ?? null),
    maxUses: settings.max_uses ?? maxPages,
    uses: 0,
  }
}

/** `service`: the gateway itself, which is the default. */
const ownEngines = ['auto', 'service']
const pageEngines = searchEngines.filter(({ pagePrice }) => pagePrice !== null).map(({ id }) => id)

function choosePageReader(setup: ToolSetup, engine = 'auto'): ChosenEngine | null {
  if (ownEngines.includes(engine)) return null
  const { gateway, keyContext, at } = setup
  const field = `${at}.parameters.engine`
  if (!pageEngines.includes(engine))
    throw invalidFieldError(field, `must be one of ${[...ownEngines, ...pageEngines].join(', ')}`)
  const model = findModel(gateway.catalog, setup.model)?.model.canonical_slug ?? null
  return chooseEngine(gateway, engine, { byokKeys: keyContext.byokKeys, model }, field)
}

/** Pages read so far, for each request. */
const pageCounts = new WeakMap<ModelCall, number>()

async function runFetch(session: FetchSession, run: ToolRun): Promise<ToolOutcome> {
  const url = asString(run.input.url)?.trim() ?? ''
  const count = pageCounts.get(run.call) ?? 0
  const max = Math.min(session.maxUses, maxPages)
  if (session.uses >= session.maxUses || count >= maxPages)
    return fail(url, 'max_uses_exceeded', `The limit of ${max} pages is reached.`, null)
  session.uses++
  pageCounts.set(run.call, count + 1)
  const read = session.chosen
    ? await readWithEngine(session, session.chosen, url, run)
    : await readOwn(session, url, run)
  if ('code' in read) return fail(url, blockCodes[read.code] ?? 'unavailable', read.message, read.status)
  return succeed(read.page, read.fees, run)
}

interface ReadPage {
  page: WebPage
  fees: ToolFee[]
}

type FetchError = Pick<PageError, 'message' | 'status'> & { code: string }

async function readOwn(session: FetchSession, url: string, run: ToolRun): Promise<ReadPage | FetchError> {
  const outcome = await readPage(run.gateway, url, {
    ...session,
    owner: run.caller.organizationId,
    signal: run.signal,
  })
  return outcome.ok ? { page: outcome.page, fees: [ownFee] } : outcome.error
}

/** The gateway reads pages for free; the bill counts them. */
const ownFee: ToolFee = { name: 'service', quantity: 1, nanos: 0n }

async function readWithEngine(
  session: FetchSession,
  chosen: ChosenEngine,
  url: string,
  run: ToolRun,
): Promise<ReadPage | FetchError> {
  const { gateway, signal } = run
  const target = URL.parse(url)
  if (target === null || !/^https?:$/.test(target.protocol)) return pageError('invalid_url')
  if (findDomainBlock(target, session.allowedDomains, session.blockedDomains) !== null)
    return pageError('blocked_domain')
  const worstCase = pricePageWorstCase(gateway.settings.web, chosen.engine, chosen.accesses)
  if (worstCase > 0n) await run.reserve(worstCase)
  const query = { url: target.href, maxCharacters: session.maxContentTokens * charactersPerToken }
  const outcome = await readEnginePage(gateway, chosen, query, signal)
  if (!outcome.ok) return { status: null, ...outcome.error }
  return { page: outcome.page, fees: [{ name: chosen.engine.id, quantity: 1, nanos: outcome.nanos }] }
}

/** The codes of the Messages format. */
const blockCodes: Record<string, string> = {
  invalid_url: 'invalid_tool_input',
  blocked_domain: 'url_not_allowed',
  private_address: 'url_not_allowed',
  http_error: 'url_not_accessible',
  unreachable: 'url_not_accessible',
  timeout: 'url_not_accessible',
  too_many_redirects: 'url_not_accessible',
  too_large: 'url_not_accessible',
  rate_limited: 'too_many_requests',
  unsupported_content_type: 'unsupported_content_type',
}

function succeed(
  { url, title, text, status, isComplete }: WebPage,
  fees: ToolFee[],
  run: ToolRun,
): ToolOutcome {
  const end = isComplete ? '' : '\n\n(The page is longer than what is shown.)'
  return {
    content: [{ kind: 'text', text: `URL: ${url}\nTitle: ${title ?? ''}\n\n${text}${end}` }],
    item: { ...describeItem(url), title: title ?? '', content: text, httpStatus: status },
    block: buildBlock({
      type: 'web_fetch_result',
      url,
      retrieved_at: new Date(run.gateway.clock.now()).toISOString(),
      content: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: text },
        title,
        citations: { enabled: false },
      },
    }),
    citations: [{ url, ...(title && { title }) }],
    fees,
    webFetches: 1,
  }
}

function fail(url: string, code: string, message: string, status: number | null): ToolOutcome {
  return {
    content: [{ kind: 'text', text: message }],
    isError: true,
    item: {
      ...describeItem(url),
      error: message,
      ...(status !== null && { httpStatus: status }),
      status: 'incomplete',
    },
    block: buildBlock({ type: 'web_fetch_tool_result_error', error_code: code }),
  }
}

function buildBlock(content: JsonObject): JsonObject {
  return { type: 'web_fetch_tool_result', caller: { type: 'direct' }, content }
}

const maxShownUrl = 2_000

function describeItem(url: string): JsonObject {
  return { type: `${serverToolPrefix}${name}`, url: url.slice(0, maxShownUrl) }
}
