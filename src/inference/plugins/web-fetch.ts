import type { PluginSettings } from '../../formats/schema/plugins.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { trimEnd } from '../../platform/text/trim-end.ts'
import { parseDomainRules } from '../web/prepare.ts'
import { type PageOptions, type PageOutcome, readPage } from '../web/read-page.ts'
import { CiteSources } from './cite-sources.ts'
import { addToPrompt, readLastUserText } from './last-user-message.ts'
import type { AugmentContext, Plugin, PluginContext } from './plugin.ts'

type Settings = PluginSettings<'web-fetch'>

const defaultPages = 5
/** Pages that one request may read. */
const maxPages = 50

/** Reads the pages that the last message of the user names, and adds their text to the prompt. */
export const webFetch: Plugin<'web-fetch'> = {
  id: 'web-fetch',
  validate: ({ allowed_domains, blocked_domains }) => {
    parseDomainRules(allowed_domains, 'plugins.web-fetch.allowed_domains')
    parseDomainRules(blocked_domains, 'plugins.web-fetch.blocked_domains')
  },
  assertConfigured: assertFetchEnabled,
  prepare: (context, settings) => {
    readOptions(context, settings)
  },
  augment: async (context, settings) => {
    const { gateway, request, work, signal } = context
    const options = { ...readOptions(context, settings), signal }
    const max = Math.min(settings.max_uses ?? defaultPages, maxPages)
    const urls = findUrls(readLastUserText(request.content.call.messages), max)
    if (urls.length === 0) return
    const startedAt = performance.now()
    const pages: { url: string; outcome: PageOutcome }[] = []
    for (const url of urls) pages.push({ url, outcome: await readPage(gateway, url, options) })
    const read = pages.flatMap(({ outcome }) => (outcome.ok ? [outcome.page] : []))
    work.bill.addFee({
      kind: 'plugin',
      name: 'web-fetch',
      provider: 'service',
      quantity: read.length,
      cost: 0n,
      durationMs: Math.round(performance.now() - startedAt),
      startedMs: startedAt - request.startedAt,
    })
    work.toolCalls.webFetches += read.length
    work.stages.push({
      type: 'plugin',
      name: 'web-fetch',
      summary: `${read.length} of ${urls.length} pages read`,
      data: { pages: read.length },
    })
    const sources = read.map(({ url, title }) => ({ url, ...(title && { title }) }))
    addToPrompt(request, pages.map(formatPage).join('\n\n---\n\n'))
    request.replyTransforms = [...request.replyTransforms, () => new CiteSources(sources)]
  },
}

function assertFetchEnabled({ settings }: Gateway): void {
  if (!settings.web.fetch.enabled)
    throw invalidFieldError(
      'plugins.web-fetch',
      'reading pages is disabled on this server (web.fetch.enabled)',
    )
}

/** Reads the options of the request. Errors are 400 or 403. */
function readOptions(
  { gateway, request }: PluginContext | AugmentContext,
  settings: Settings,
): Omit<PageOptions, 'signal'> {
  if (request.region !== 'global')
    throw gatewayError('region_refused', 'plugins.web-fetch: pages are not read on regional hosts.')
  if (request.keyContext.disabledServerTools.includes('service:web_fetch'))
    throw gatewayError('forbidden', 'plugins.web-fetch: "service:web_fetch" is disabled for this workspace.')
  assertFetchEnabled(gateway)
  return {
    owner: request.caller.organizationId,
    maxContentTokens: settings.max_content_tokens ?? null,
    allowedDomains: parseDomainRules(settings.allowed_domains, 'plugins.web-fetch.allowed_domains'),
    blockedDomains: parseDomainRules(settings.blocked_domains, 'plugins.web-fetch.blocked_domains'),
  }
}

/** URLs of one text that are considered. */
const maxMentions = 1000

/** Unique, and without punctuation at the end. */
function findUrls(text: string, max: number): string[] {
  const urls = new Set<string>()
  let mentions = 0
  for (const [found] of text.matchAll(/https?:\/\/[^\s<>"'`\]})]+/gi)) {
    if (urls.size >= max || ++mentions > maxMentions) break
    urls.add(trimEnd(found, '.,;:!?'))
  }
  return [...urls]
}

const maxShownUrl = 2_000

function formatPage({ url, outcome }: { url: string; outcome: PageOutcome }): string {
  if (!outcome.ok) return `The page ${url.slice(0, maxShownUrl)} could not be read: ${outcome.error.message}`
  const { title, text, isComplete } = outcome.page
  const end = isComplete ? '' : '\n\n(The page is longer than what is shown.)'
  return `The page ${outcome.page.url}\nTitle: ${title ?? ''}\n\n${text}${end}`
}
