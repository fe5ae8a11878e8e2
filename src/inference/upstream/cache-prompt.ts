import type { EndpointPricing } from '../../catalog/price.ts'
import type { PromptBlock, PromptCacheCodec } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import { forbidsRetention } from '../request/retention.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { PromptHistory } from './prompt-history.ts'

/** Where nothing is known of the model: a breakpoint after less is ignored by the provider. */
const defaultMinTokens = 1024
/** Ratio that token estimates assume. */
const charactersPerToken = 4
/** A longer prompt is left as it is: hashing it would take the event loop too long. */
const maxCharacters = 1024 * 1024
/** Beginnings of the messages that are remembered: some at the start, which requests share, and the last. */
const firstMessageBlocks = 16
const lastMessageBlocks = 32

/** A beginning of the prompt, up to a block. */
interface Prefix {
  block: number
  hash: string
  characters: number
  isWhole: boolean
  section: PromptBlock['path'][0]
}

/**
 * Adds breakpoints where the beginning of the prompt was sent before within the lifetime of the provider's cache, often
 * enough that the next time pays for what writing it costs. Null if none are added.
 */
export function cachePrompt(
  gateway: Gateway,
  request: InferenceRequest,
  candidate: Candidate,
  { codec, body }: { codec: PromptCacheCodec; body: JsonObject },
): { body: JsonObject; count: number } | null {
  const { pricing, unsupported_parameters } = candidate.endpoint
  const required = pricing && countRequiredSightings(pricing)
  if (!required || unsupported_parameters.has('cache_control')) return null
  if (request.options.preferences.prompt_caching === false || forbidsRetention(request)) return null
  const blocks = codec.listBlocks(body)
  if (!blocks) return null
  const { promptHistory } = gateway.upstreams
  const now = gateway.clock.now()
  const prefixes = listPrefixes(promptHistory, `${request.caller.key.id} ${candidate.id}`, blocks)
  if (!prefixes) return null
  const minTokens = candidate.endpoint.provider.minCachedTokens?.(candidate.endpoint.upstream_model)
  const minCharacters = (minTokens ?? defaultMinTokens) * charactersPerToken
  const isReused = ({ hash, characters }: Prefix) =>
    characters >= minCharacters && (promptHistory.find(hash, now)?.count ?? 0) + 1 >= required
  const chosen = chooseBlocks(blocks, prefixes, isReused, ({ hash }) => promptHistory.find(hash, now)).slice(
    -codec.maxBreakpoints,
  )
  const max = gateway.settings.prompt_caching.prefixes
  for (const { hash, characters, isWhole } of prefixes)
    if (characters >= minCharacters) promptHistory.record(hash, { now, isWhole, max })
  return chosen.length === 0 ? null : { body: codec.addBreakpoints(body, chosen), count: chosen.length }
}

/**
 * How often a prompt must have been sent, this time included, until writing it to the cache pays with the next one.
 * Null if the endpoint has no price for that, or reading from the cache saves nothing.
 */
export function countRequiredSightings({
  prompt,
  input_cache_read,
  input_cache_write,
}: EndpointPricing): number | null {
  if (input_cache_read === undefined || input_cache_write === undefined) return null
  const saving = Number(prompt) - Number(input_cache_read)
  if (saving <= 0) return null
  const premium = Math.max(0, Number(input_cache_write) - Number(prompt))
  return 1 + Math.max(1, Math.ceil(premium / saving))
}

/** Null for a prompt that is too long. */
function listPrefixes(
  history: PromptHistory,
  scope: string,
  blocks: readonly PromptBlock[],
): Prefix[] | null {
  const prefixes: Prefix[] = []
  const firstMessage = blocks.findIndex(({ path }) => path[0] === 'messages')
  let hash = history.extend('', scope)
  let characters = 0
  for (const [at, { path, value, head }] of blocks.entries()) {
    const text = JSON.stringify(value)
    characters += text.length
    if (characters > maxCharacters) return null
    hash = history.extend(hash, `${head}${text}`)
    const [section] = path
    const isRemembered =
      section === 'messages'
        ? at < firstMessage + firstMessageBlocks || at >= blocks.length - lastMessageBlocks
        : section === 'system' || blocks[at + 1]?.path[0] !== 'tools'
    if (isRemembered)
      prefixes.push({ block: at, hash, characters, isWhole: at === blocks.length - 1, section })
  }
  return prefixes
}

/**
 * Chooses the blocks that breakpoints follow: the end of what was sent before, the end of tools and system, for other
 * conversations that share them, and the end of the prompt if it continues one that was sent before.
 */
function chooseBlocks(
  blocks: readonly PromptBlock[],
  prefixes: readonly Prefix[],
  isReused: (prefix: Prefix) => boolean,
  find: (prefix: Prefix) => { isWhole: boolean } | undefined,
): PromptBlock[] {
  const longest = prefixes.findLast(isReused)
  if (!longest) return []
  const shared = prefixes.findLast((prefix) => prefix.section !== 'messages' && isReused(prefix))
  const continues = longest.section === 'messages' && find(longest)?.isWhole === true
  const ends = [shared?.block, longest.block, continues ? blocks.length - 1 : undefined]
  const chosen = new Set(ends.flatMap((end) => findMarkable(blocks, end) ?? []))
  return [...chosen].sort((a, b) => a - b).flatMap((at) => blocks[at] ?? [])
}

/** The last block up to one that a breakpoint may follow. */
function findMarkable(blocks: readonly PromptBlock[], end: number | undefined): number | undefined {
  for (let at = end ?? -1; at >= 0; at--) if (blocks[at]?.canMark) return at
  return undefined
}
