import type { Gateway } from '../gateway.ts'
import { countOf, type JsonObject, objectOf } from '../lib/loose.ts'
import { admit } from './admit.ts'
import { readAsked } from './answer.ts'
import type { Asked, Question } from './asked.ts'
import { guardRegion } from './guard.ts'
import { type Candidate, route } from './route.ts'
import { promptEstimate } from './settle.ts'
import { translate } from './translate.ts'
import { Exchange, readBounded, send, UpstreamError } from './upstream.ts'

/** How many tokens a prompt has: the provider's own count where it has one, an estimate otherwise. */
export async function countTokens(gateway: Gateway, question: Question): Promise<number> {
  const asked = await readAsked(gateway, question)
  guardRegion(asked.standing.policy, asked.region)
  const plan = route(gateway, asked)
  admit(asked, plan)
  const counting = plan.candidates.find(
    ({ endpoint }) =>
      !endpoint.provider.inProcess &&
      asked.format.dialect?.name &&
      endpoint.dialects.includes(asked.format.dialect.name),
  )
  const counted = counting && (await countedBy(gateway, asked, counting))
  return counted ?? promptEstimate(asked.call)
}

/** Undefined when the provider does not say. */
async function countedBy(gateway: Gateway, asked: Asked, candidate: Candidate): Promise<number | undefined> {
  const { dialect, request } = translate(asked, candidate)
  const { stream: _, max_tokens: __, temperature: ___, metadata: ____, ...body } = request.body
  const exchange = new Exchange(asked.request.signal)
  exchange.allow(gateway.settings.limits.first_byte)
  try {
    const counting = {
      path: `${request.path}/count_tokens`,
      headers: request.headers,
      upstream: dialect.upstream,
      text: JSON.stringify(body),
    }
    const response = await send(gateway, exchange, candidate.endpoint, counting)
    const answer: unknown = JSON.parse(await readBounded(response, maxCountBytes, exchange))
    return countOf((objectOf(answer) as JsonObject | undefined)?.input_tokens) || undefined
  } catch (error) {
    if (error instanceof UpstreamError || error instanceof SyntaxError) return undefined
    throw error
  } finally {
    exchange.release()
  }
}

const maxCountBytes = 64 * 1024
