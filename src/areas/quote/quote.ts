import { promptEstimate, type Size } from '../../call/size.ts'
import { GatewayError } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import type { Wish } from '../../ledger/book.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { type Preview, previewOf } from '../../ledger/preview.ts'
import { requestIdOf } from '../../lib/request-id.ts'
import { askingOf, mostAt, refused, sizeIn, stopFlood, wishOf } from '../../pipeline/admit.ts'
import type { Asked, Question } from '../../pipeline/asked.ts'
import { decidedOf } from '../../pipeline/metadata.ts'
import { readAsked } from '../../pipeline/read.ts'
import { type Plan, planFor, refuseEmpty } from '../../pipeline/route.ts'
import { wordsFor } from '../../pipeline/translate.ts'
import { guardRegion } from '../../policy/guard.ts'
import { explain } from '../../routing/explain.ts'
import { rulesOf } from './guardrails.ts'
import { limitsOf } from './limits.ts'
import { completionAt, expectedOf, priceAt } from './price.ts'

/** What would become of a request: decided and reckoned as if it were made, and then not made. */
export async function quoteOf(gateway: Gateway, question: Question) {
  const read = await readAsked(gateway, question)
  const asked: Asked = { ...read, wishes: { ...read.wishes, isExplained: true } }
  stopFlood(gateway, asked)
  // How often each one would be drawn is told beside it.
  const routed = planFor(gateway, asked, null)
  const { plan, wish, preview, error } = await judged(gateway, asked, routed)
  return {
    ...priced(gateway, asked, plan, wish),
    limits: preview && wish ? limitsOf(wish, preview) : [],
    guardrails: rulesOf(asked.standing.policy, plan.left),
    would: error ? ('be_refused' as const) : ('be_sent' as const),
    refusal: error && refusalOf(asked, error),
  }
}

interface Judged {
  plan: Plan
  /** Null when the request would not come as far as the ledger. */
  wish: Wish | null
  preview: Preview | null
  error: GatewayError | null
}

/** The checks of a real request; of several errors the one it would meet first. */
async function judged(gateway: Gateway, asked: Asked, routed: Plan): Promise<Judged> {
  const early = errorIn(() => {
    guardRegion(asked.standing.policy, asked.region)
    refuseEmpty(gateway, asked, routed)
  })
  const nothing = { plan: routed, wish: null, preview: null }
  if (routed.candidates.length === 0) return { ...nothing, error: early }
  const asking = tried(() => askingOf(gateway, asked, routed))
  if (asking instanceof GatewayError) return { ...nothing, error: early ?? asking }
  const { plan } = asking
  const wish = wishOf(asked, asking.asking)
  const preview = await previewOf(gateway.db, wish)
  const broke = preview.refusal && refused(asked, preview.refusal)
  return { plan, wish, preview, error: early ?? broke ?? lossAt(asked, plan) }
}

/** What no endpoint could be told, where the client wants all of it told. */
function lossAt(asked: Asked, { candidates }: Plan): GatewayError | null {
  const losses = candidates.map(({ model, endpoint }) => errorIn(() => wordsFor(asked, model, endpoint)))
  return losses.every((loss) => loss !== null) ? (losses[0] ?? null) : null
}

function errorIn(work: () => unknown): GatewayError | null {
  const result = tried(work)
  return result instanceof GatewayError ? result : null
}

function tried<T>(work: () => T): T | GatewayError {
  try {
    return work()
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** In the words of the format, as its client would be given it. */
function refusalOf(asked: Asked, error: GatewayError) {
  error.userId = asked.caller.userId
  return asked.format.writes.encodeError(error, requestIdOf(asked.request))
}

/** The explanation, with what each endpoint would take. */
/** With a key of the caller's own. */
function mostAtProvider(gateway: Gateway, asked: Asked, size: Size, { candidates }: Plan): bigint {
  const amounts = candidates.map((candidate) => mostAt(gateway, size, candidate, asked.at).byok)
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n)
}

function priced(gateway: Gateway, asked: Asked, plan: Plan, wish: Wish | null) {
  const { endpoints, ...explanation } = explain(decidedOf(asked, plan), null)
  const size = sizeIn(asked)
  const prices = plan.candidates.map((candidate) => priceAt(gateway, asked, size, candidate))
  const available = endpoints.available.map(({ price, ...endpoint }, place) => ({
    ...endpoint,
    price: { ...(price ?? unknown), ...(prices[place] ?? unquoted) },
  }))
  return {
    ...explanation,
    endpoints: { ...endpoints, available },
    price: {
      worst_case: wish ? usdFromNanos(wish.amount) : null,
      worst_case_at_provider: wish ? usdFromNanos(mostAtProvider(gateway, asked, size, plan)) : null,
      expected: expectedOf(plan.candidates, prices),
      assumed: {
        prompt_tokens: promptEstimate(asked.call),
        completion_tokens: completionAt(asked.call.maxTokens),
      },
    },
  }
}

const unknown = { prompt: null, completion: null }
const unquoted = { worst_case: null, expected: null }
