import { wantsReasoning } from '../call/reasoning.ts'
import { type Found, findModel } from '../catalog/lookup.ts'
import type { Model } from '../catalog/model.ts'
import { badField, fail, GatewayError } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import type { Candidate } from '../routing/candidate.ts'
import { type Decision, decide, type LeftOut } from '../routing/decide.ts'
import { type FiguresById, figuresOf } from '../routing/explain.ts'
import { healthIdOf } from '../routing/health.ts'
import type { World } from '../routing/rank.ts'
import { beginningOf } from '../routing/sticky.ts'
import type { Wanted } from '../routing/wanted.ts'
import type { Asked } from './asked.ts'

/** Where a request may go, best first. */
export interface Plan extends Decision {
  /** What its names of models stand for. */
  found: Found[]
  /** What was known of the endpoints, where somebody wants to be told. */
  figures: FiguresById | null
}

export function route(gateway: Gateway, asked: Asked): Plan {
  const plan = planFor(gateway, asked)
  refuseEmpty(gateway, asked, plan)
  return plan
}

export function refuseEmpty(gateway: Gateway, { wishes }: Asked, plan: Plan): void {
  if (plan.candidates.length === 0) throw nothingLeft(gateway, wishes.models, plan)
}

/** The decision, whatever it is: also that there is nowhere to go. */
export function planFor(
  gateway: Gateway,
  asked: Asked,
  random: World['random'] = gateway.routing.random,
): Plan {
  const { models } = asked.wishes
  const found = thinkingAsTold(
    asked,
    models.map((slug) => requireModel(gateway, slug, models)),
  )
  const { health, sticky } = gateway.routing
  const now = gateway.clock.now()
  const world = { health, random, now }
  const decision = decide(wantedOf(gateway, asked, found), world, (conversation) =>
    sticky.placeOf(conversation, now),
  )
  return { ...decision, found, figures: asked.wishes.isExplained ? figuresOf(decision, world) : null }
}

/**
 * Without models that cannot help thinking, where that is refused in so many words. One that was only called
 * the latest of its family thinks as little as it can instead: nobody knew which it would be.
 */
function thinkingAsTold({ format, call }: Asked, found: Found[]): Found[] {
  if (!format.reads.insistsOnEffort || wantsReasoning(call.reasoning) !== false) return found
  const able = found.filter(({ model, latest }) => latest !== null || !model.reasoning?.mandatory)
  const [first] = found
  if (able.length > 0 || !first) return able
  const efforts = first.model.reasoning?.supported_efforts?.join(', ')
  throw badField(
    'reasoning',
    `cannot be switched off: ${first.model.id} always thinks${efforts ? ` (${efforts})` : ''}`,
  )
}

function wantedOf(gateway: Gateway, asked: Asked, found: Found[]): Wanted {
  const { wishes, call, region, standing } = asked
  return {
    models: found,
    preferences: wishes.provider,
    call,
    region,
    policy: standing.policy,
    ownKeys: standing.ownKeys,
    providerByName: gateway.catalog.providerByName,
    conversation: (modelId) => (gateway.routing.sticky.isEmpty ? null : conversationOf(asked, modelId)),
  }
}

/** What the turns of one conversation have in common: the name the client gave it, or how it begins. */
export function conversationOf({ caller, wishes, call }: Asked, modelId: string): string {
  const talk = wishes.sessionId === null ? beginningOf(call) : `"${wishes.sessionId}"`
  return `${caller.organizationId} ${modelId} ${talk}`
}

function requireModel(gateway: Gateway, slug: string, requested: string[]): Found {
  const found = findModel(gateway.catalog, slug)
  if (!found) {
    throw new GatewayError('model_unknown', {
      message: `model: "${shortened(slug)}" is not a model of this gateway.`,
      param: 'model',
      availability: { code: 'model_not_found', retryable: false, requested_models: requested.map(shortened) },
    })
  }
  const { model } = found
  if (
    model.output_modalities.some(
      (modality) => modality === 'text' || modality === 'image' || modality === 'audio',
    )
  ) {
    return found
  }
  throw new GatewayError('model_wrong_endpoint', {
    message: `model: "${shortened(slug)}" makes ${model.output_modalities.join(', ')}, not text.`,
    param: 'model',
    availability: { code: 'wrong_endpoint', retryable: false, requested_models: requested.map(shortened) },
  })
}

/** What a client wrote is repeated to it, but not at any length. */
function shortened(slug: string): string {
  return slug.length > 100 ? `${slug.slice(0, 100)}...` : slug
}

/** All of it because of a guardrail is a refusal, all of it asked to wait a reason to wait; else nobody fits. */
function nothingLeft(gateway: Gateway, requested: string[], { left, found }: Plan): GatewayError {
  const reasons = [...new Set(left.map(({ reason }) => reason))]
  if (reasons.length > 0 && reasons.every((reason) => reason.startsWith('guardrail:'))) {
    const fields = reasons.map((reason) => reason.slice('guardrail:'.length))
    return fail('guardrail_blocked', `A guardrail does not allow this request (${fields.join(', ')}).`)
  }
  if (reasons.includes('rate_limited'))
    return toldToWait(
      gateway,
      requested,
      left.filter(isPaused).map(({ endpoint, ownKeyId }) => healthIdOf(endpoint.id, ownKeyId)),
    )
  const isFiltered = reasons.some((reason) => reason !== 'no_credential')
  return new GatewayError(isFiltered ? 'no_provider' : 'no_endpoints', {
    ...(!isFiltered && {
      message: `No provider of ${requested.map(shortened).join(', ')} is set up here.`,
      param: 'model',
    }),
    availability: {
      code: isFiltered ? 'constraint_filtered' : 'no_endpoints',
      retryable: false,
      requested_models: requested.map(shortened),
      ...(isFiltered && { excluded_by: reasons }),
      affected_providers: providersOf(found.map(({ model }) => model)),
    },
  })
}

function providersOf(models: Model[]): string[] {
  return [...new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider.slug)))]
}

function isPaused({ reason }: LeftOut): boolean {
  return reason === 'rate_limited'
}

/** Every provider said how long it wants to be left alone: until the first of them is back there is no use in asking. */
export function toldToWait(
  gateway: Gateway,
  requested: string[],
  ids: readonly Candidate['id'][],
): GatewayError {
  const now = gateway.clock.now()
  const until = Math.min(...ids.map((id) => gateway.routing.health.known(id)?.pausedUntil ?? now))
  const seconds = Math.max(1, Math.ceil((until - now) / 1000))
  return new GatewayError('upstream_rate_limited', {
    message: `Every provider of this model has asked to be left alone; the first is back in ${seconds} s.`,
    availability: {
      code: 'capacity_exhausted',
      retryable: true,
      requested_models: requested.map(shortened),
      retry_after: seconds,
    },
    headers: { 'retry-after': String(seconds) },
  })
}
