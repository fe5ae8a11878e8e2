import { z } from 'zod'
import type { Gateway } from '../../../gateway/gateway.ts'
import {
  type ExternalCheck,
  type ExternalChecks,
  failureModes,
  filterActions,
  type GuardrailRow,
  parseGuardrail,
  sealContextOf,
} from '../../../governance/policy/guardrail.ts'
import { checkServices, findCheckService } from '../../../inference/guard/checks/all.ts'
import type { CheckService } from '../../../inference/guard/checks/service.ts'
import type { Vault } from '../../../platform/crypto/crypto.ts'
import { fullMask } from '../../../platform/crypto/mask.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findUrlProblem } from '../../../platform/http/egress-policy.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'

/** Far more than one guardrail needs: each adds its time limit to a request. */
const maxChecks = 10

const commonFields = {
  name: nameField(100).describe('Names the check in hits and errors; unique in the guardrail.'),
  scope: z
    .enum(['input', 'output', 'both'])
    .default('input')
    .describe('Whether prompts, replies or both are checked.'),
  action: z
    .enum(filterActions)
    .describe('`block` refuses what the service flags, `redact` replaces it, `flag` only records it.'),
  on_failure: z
    .enum(failureModes)
    .optional()
    .describe(
      'What happens to a text that the service has not checked: `open` lets it pass, `closed` refuses it with 503. Defaults to closed; `flag` is always open.',
    ),
  timeout_ms: z.int().min(50).max(30_000).default(2000).describe('For all calls of one prompt together.'),
  cache_seconds: z
    .int()
    .min(0)
    .max(86_400)
    .default(300)
    .describe('How long a verdict is kept, in the memory of a node; 0: not at all.'),
  max_characters: z
    .int()
    .min(100)
    .max(1_000_000)
    .optional()
    .describe('Characters of one call: a longer text is checked in pieces. Defaults to 10000.'),
  max_calls: z
    .int()
    .min(1)
    .max(256)
    .default(32)
    .describe('Calls for one prompt, or for one reply. A text that needs more counts as not checked.'),
  concurrency: z.int().min(1).max(256).default(16).describe('Calls at the same time on one node.'),
}

const defaultMaxCharacters = 10_000

const [firstSchema, ...otherSchemas] = checkServices.map(({ type, config }) =>
  z.strictObject({ type: z.literal(type), ...commonFields, config }),
)
if (!firstSchema) throw new Error('no services for external checks are registered')

export const checkBody = z.discriminatedUnion('type', [firstSchema, ...otherSchemas], {
  error: `must be one of ${checkServices.map(({ type }) => type).join(', ')}`,
})

type CheckBody = z.output<typeof checkBody>

export const externalChecksBody = z
  .array(checkBody)
  .max(maxChecks)
  .describe(
    'Services that texts are sent to. A masked secret leaves that of the check of this name unchanged.',
  )

export const checkRecord = z
  .strictObject({
    type: z.enum(checkServices.map(({ type }) => type)),
    name: z.string(),
    scope: z.enum(['input', 'output', 'both']),
    action: z.enum(filterActions),
    on_failure: z.enum(failureModes),
    timeout_ms: z.int(),
    cache_seconds: z.int(),
    max_characters: z.int(),
    max_calls: z.int(),
    concurrency: z.int(),
    config: z.record(z.string(), z.unknown()).describe('The fields of the service, with masked secrets.'),
  })
  .meta({ id: 'GuardrailExternalCheck' })

export const effectiveCheck = <L extends z.ZodType>(layer: L) =>
  z.strictObject({ layer, ...checkRecord.shape })

/** A check as a response may show it: its secrets are known to be set by their masks. */
export function toCheckRecord(check: ExternalCheck): z.input<typeof checkRecord> {
  const { type, name, scope, action, on_failure, config } = check
  const { timeout_ms, cache_seconds, max_characters, max_calls, concurrency } = check
  return {
    ...{ type, name, scope, action, on_failure },
    ...{ timeout_ms, cache_seconds, max_characters, max_calls, concurrency },
    config: { ...config },
  }
}

type Secrets = Record<string, string>

/** The columns of checks whose services can be called. `row`: the guardrail as it is stored; null for a new one. */
export function encodeChecks(
  { vault, settings }: Pick<Gateway, 'vault' | 'settings'>,
  id: string,
  row: GuardrailRow | null,
  bodies: readonly CheckBody[] | null,
): Pick<GuardrailRow, 'external_checks' | 'sealed_check_secrets'> {
  if (bodies === null || bodies.length === 0) return { external_checks: null, sealed_check_secrets: null }
  const stored = row && parseGuardrail(row).external_checks
  const storedSecrets = stored ? openSecrets(vault, stored) : {}
  const checks: ExternalCheck[] = []
  const secrets: [string, Secrets][] = []
  for (const [at, body] of bodies.entries()) {
    const path = `external_checks.${at}`
    const service = requireService(body.type)
    if (checks.some(({ name }) => name === body.name))
      throw invalidFieldError(`${path}.name`, `"${body.name}" is the name of another check`)
    const before = stored?.checks.find(({ name, type }) => name === body.name && type === body.type)
    const config = body.config as Record<string, unknown>
    validateCheck(service, body, config, settings.egress.allow_private, path)
    const known = before && { before, secrets: storedSecrets[body.name] }
    secrets.push([body.name, readSecrets(service, config, known, path)])
    checks.push(toStored(service, body, config))
  }
  const sealed = vault.encrypt(JSON.stringify(Object.fromEntries(secrets)), sealContextOf(id))
  return { external_checks: JSON.stringify(checks), sealed_check_secrets: sealed }
}

function requireService(type: string): CheckService {
  const service = findCheckService(type)
  if (!service) throw new Error(`no service ${type}`)
  return service
}

function openSecrets(vault: Vault, { guardrailId, sealed }: ExternalChecks): Record<string, Secrets> {
  return sealed === null ? {} : JSON.parse(vault.decrypt(sealed, sealContextOf(guardrailId)))
}

function validateCheck(
  service: CheckService,
  body: CheckBody,
  config: Record<string, unknown>,
  allowPrivate: readonly string[],
  path: string,
): void {
  const problem = findUrlProblem(URL.parse(service.target(config)), allowPrivate)
  if (problem !== null) throw invalidFieldError(`${path}.config.${service.address}`, problem)
  if (body.action === 'redact' && !service.canRedact)
    throw invalidFieldError(
      `${path}.action`,
      `must be flag or block: ${service.name} does not say what to replace`,
    )
  if (body.action === 'flag' && body.on_failure === 'closed')
    throw invalidFieldError(`${path}.on_failure`, 'must be open for the action flag')
  if ((body.max_characters ?? 0) > service.maxCharacters)
    throw invalidFieldError(
      `${path}.max_characters`,
      `must be at most ${service.maxCharacters} for ${service.name}`,
    )
  const issue = service.findProblem?.(config)
  if (issue) throw invalidFieldError(`${path}.config`, issue)
}

/** S6: secrets are sent only to the origin that they were entered for. */
function readSecrets(
  service: CheckService,
  config: Record<string, unknown>,
  stored: { before: ExternalCheck; secrets: Secrets | undefined } | undefined,
  path: string,
): Secrets {
  const read: Secrets = {}
  for (const field of service.secrets) {
    const value = config[field]
    if (typeof value !== 'string') continue
    const known = stored?.secrets?.[field]
    if (value !== fullMask) read[field] = value
    else if (
      stored &&
      known !== undefined &&
      originOf(service, stored.before.config) === originOf(service, config)
    )
      read[field] = known
    else throw invalidFieldError(`${path}.config.${field}`, 'is a masked value; send the secret itself')
  }
  return read
}

function originOf(service: CheckService, config: Readonly<Record<string, unknown>>): string | undefined {
  return URL.parse(service.target(config))?.origin
}

function toStored(service: CheckService, body: CheckBody, config: Record<string, unknown>): ExternalCheck {
  const { type, name, scope, action, timeout_ms, cache_seconds, max_calls, concurrency } = body
  const masked = service.secrets.filter((field) => config[field] !== undefined)
  return {
    ...{ type, name, scope, action, timeout_ms, cache_seconds, max_calls, concurrency },
    on_failure: body.on_failure ?? (action === 'flag' ? 'open' : 'closed'),
    max_characters: body.max_characters ?? Math.min(defaultMaxCharacters, service.maxCharacters),
    config: { ...config, ...Object.fromEntries(masked.map((field) => [field, fullMask])) },
  }
}
