import { promptEstimate } from '../call/size.ts'
import type { Endpoint } from '../catalog/model.ts'
import type { Counting, Dialect } from '../dialects/dialect.ts'
import { fail } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { release } from '../ledger/ledger.ts'
import { countOf, objectOf } from '../lib/loose.ts'
import { guardRegion } from '../policy/guard.ts'
import type { Candidate } from '../routing/candidate.ts'
import { admitFree } from './admit.ts'
import type { Asked, Question } from './asked.ts'
import { outgoing } from './dispatch.ts'
import { readAsked } from './read.ts'
import { type Plan, route } from './route.ts'
import { translate } from './translate.ts'
import { Exchange, readBounded, send } from './upstream.ts'
import { ClientGoneError, UpstreamError } from './upstream-error.ts'

/** How many tokens a prompt has: the provider's own count where it has one, an estimate otherwise. */
export async function countTokens(gateway: Gateway, question: Question): Promise<number> {
  const asked = await readAsked(gateway, question)
  guardRegion(asked.standing.policy, asked.region)
  const { plan } = await admitFree(gateway, asked, route(gateway, asked))
  try {
    return (await askedOf(gateway, asked, plan)) ?? promptEstimate(asked.call)
  } finally {
    // Nobody charges for a count.
    await gateway.ledger.settle(release(asked.id, asked.caller.organizationId))
  }
}

async function askedOf(gateway: Gateway, asked: Asked, plan: Plan): Promise<number | undefined> {
  const own = asked.format.dialect
  const counting = own?.upstream.counting
  const candidate = plan.candidates.find(({ endpoint }) => own && canCount(endpoint, own))
  return candidate && counting && countedBy(gateway, asked, candidate, counting)
}

function canCount(endpoint: Endpoint, { name }: Dialect): boolean {
  const { inProcess, wire } = endpoint.provider
  // One with a wire of its own has no such place, or another.
  return !inProcess && !wire?.[name] && endpoint.dialects.includes(name)
}

/** What a count does not depend on, and some providers refuse there. */
const answerFields = ['stream', 'max_tokens', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'metadata']

/** Undefined when the provider does not say. */
async function countedBy(
  gateway: Gateway,
  asked: Asked,
  candidate: Candidate,
  { suffix, field, takes }: Counting,
): Promise<number | undefined> {
  const translation = translate(gateway, asked, candidate)
  const plain = outgoing(asked, translation)
  const body = Object.entries(translation.request.body).filter(([name]) =>
    takes ? takes.includes(name) : !answerFields.includes(name),
  )
  const text = JSON.stringify(Object.fromEntries(body))
  const exchange = new Exchange(asked.request.signal, gateway.exchanges)
  exchange.allow(gateway.settings.limits.first_byte)
  try {
    const asking = { ...plain, path: plain.path + suffix, text }
    const { response } = await send(gateway, exchange, asking)
    const answer = objectOf(JSON.parse(await readBounded(response, maxCountBytes, exchange)))
    return countOf(answer?.[field]) || undefined
  } catch (error) {
    if (error instanceof UpstreamError || error instanceof SyntaxError) return undefined
    throw error instanceof ClientGoneError ? fail('request_timeout', 'The client left.') : error
  } finally {
    exchange.release()
  }
}

const maxCountBytes = 64 * 1024
