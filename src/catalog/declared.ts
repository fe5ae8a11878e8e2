import { z } from 'zod'
import { attemptPolicyFields } from '../formats/schema/attempt-policy.ts'
import {
  dataRegions,
  reasoningFields,
  routerPrefix,
  wireCapabilities,
  wireFormatNames,
} from '../formats/vocabulary.ts'
import { lineField } from '../platform/validation/name-schema.ts'
import { secretField } from '../platform/validation/setting-fields.ts'
import {
  CredentialError,
  type CredentialForm,
  credentialFormOf,
  parseCredentialObject,
} from './credential.ts'
import { type DeclaredModel, dataPolicy, tagOf } from './declared-model.ts'
import { modelListNames } from './discovery/formats/all.ts'
import type { Provider } from './provider.ts'
import { authFields } from './provider-auth/all.ts'
import { printableMessage, printablePattern } from './provider-auth/credential-field.ts'
import { settingNames, settingPatterns } from './provider-settings.ts'
import { declaredRateLimits } from './rate-limits.ts'

const headerName = z.string().regex(/^[a-z0-9-]+$/, 'must be the name of a header, in lower case')

const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be a valid header value on one line')
/** Paths are appended to it. */
const baseUrl = z
  .url({ protocol: /^https?$/ })
  .regex(/^[^?#]*$/, 'must have neither a query nor a fragment')
  .meta({ override: { pattern: '^https?://[^?#]+$' } })

/** A provider in headgate.yaml; a built-in one lists only the fields to change. */
export const declaredProvider = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9._-]*$/, 'must be lower-case letters, digits, dots and dashes'),
  name: lineField(200).optional(),
  /** False removes the provider, and the models that only it serves. */
  enabled: z.boolean().optional(),
  /** A built-in provider whose values are the defaults: for a second account or another region. */
  like: z.string().optional(),
  base_url: baseUrl.optional(),
  api_key: secretField(z.string().min(1).regex(printablePattern, printableMessage)).optional(),
  /** Credentials in JSON, instead of `api_key`, for providers that accept them; validated by that format. */
  credentials: secretField(z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())])).optional(),
  /** `region`, `project` and the like: the values of placeholders in the base URL. */
  settings: z.partialRecord(z.enum(settingNames), z.string()).optional(),
  ...authFields,
  dialects: z.array(z.enum(wireFormatNames)).min(1).optional(),
  /** How the server lists its models; by default, as servers of its first format do. `none`: the list is not read. */
  model_list: z.enum(modelListNames).optional(),
  /** Names of models that requests may use although nothing declares them. */
  wildcards: z
    .array(
      z
        .string()
        .max(200)
        .regex(/^[\w.:/@+-]*\*$/, 'must be the beginning of a name followed by one *, such as openai/*')
        .refine((pattern) => !pattern.startsWith(routerPrefix), 'is reserved for router models'),
    )
    .max(20)
    .optional(),
  /** The header for the key, if it differs from the format's; `authorization` means Bearer. */
  key_header: headerName.optional(),
  /** Sent with every request. */
  headers: z.record(headerName, secretField(headerValue)).optional(),
  abilities: z.array(z.enum(wireCapabilities)).optional(),
  /** The field of assistant messages that carries the reasoning of earlier turns in the chat format. */
  reasoning_field: z.enum(reasoningFields).optional(),
  /** Generates and bills the whole reply even if the connection closes, so replies are always read to the end. */
  bills_abandoned: z.boolean().optional(),
  /** What the provider allows all its endpoints together with the installation's credential. */
  rate_limits: declaredRateLimits.optional(),
  ...attemptPolicyFields,
  regions: z.array(z.enum(dataRegions)).min(1).optional(),
  data_policy: dataPolicy.optional(),
  headquarters: z
    .string()
    .regex(/^[A-Z]{2}$/, 'must be two capital letters (ISO 3166-1)')
    .optional(),
  datacenters: z.array(z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters (ISO 3166-1)')).optional(),
  privacy_policy_url: z.url().optional(),
  terms_of_service_url: z.url().optional(),
  status_page_url: z.url().optional(),
})

export type DeclaredProvider = z.output<typeof declaredProvider>

/** Overrides the snapshot and the built-in providers. */
export interface DeclaredCatalog {
  providers: DeclaredProvider[]
  models: DeclaredModel[]
  /** Unix time of each model's declaration, by id; other models come from the snapshot. */
  declaredAt?: ReadonlyMap<string, number>
}

export type ReportProblem = (path: (string | number)[], message: string) => void

/** Checks across entries: unknown references and duplicate names. */
export function createDeclarationCheck(builtIn: readonly Provider[]) {
  const known = new Map(builtIn.map((provider) => [provider.slug, provider]))
  return ({ providers, models }: DeclaredCatalog, context: z.RefinementCtx) => {
    const report: ReportProblem = (path, message) => context.addIssue({ code: 'custom', path, message })
    checkProviders(providers, known, report)
    const slugs = new Set([...known.keys(), ...providers.map((provider) => provider.slug)])
    checkModels(models, slugs, report)
  }
}

type BuiltInProviders = ReadonlyMap<string, Provider>

function checkProviders(providers: DeclaredProvider[], known: BuiltInProviders, report: ReportProblem): void {
  const seenSlugs = new Set<string>()
  for (const [index, provider] of providers.entries()) {
    const reportHere: ReportProblem = (path, message) => report(['providers', index, ...path], message)
    if (seenSlugs.has(provider.slug)) reportHere(['slug'], `"${provider.slug}" is declared twice`)
    seenSlugs.add(provider.slug)
    checkLike(provider, known, reportHere)
    if (!known.has(provider.slug)) checkNewProvider(provider, reportHere)
    const base = known.get(provider.like ?? provider.slug)
    checkCredentials(provider, base, reportHere)
    checkSettings(provider, base, reportHere)
  }
}

function checkLike({ slug, like }: DeclaredProvider, known: BuiltInProviders, report: ReportProblem): void {
  if (like === undefined) return
  if (known.has(slug)) report(['like'], `"${slug}" is built in; remove like or choose another slug`)
  else if (!known.has(like)) report(['like'], `there is no built-in provider "${like}"`)
}

/** The fields that a provider must have if it is neither built in nor `like` a built-in one. */
export function checkNewProvider(provider: DeclaredProvider, report: ReportProblem): void {
  const needed = [
    'name',
    ...(provider.like === undefined ? (['base_url', 'dialects'] as const) : []),
  ] as const
  for (const field of needed) {
    if (provider[field] === undefined) {
      report([field], 'is required, because this provider is not built in')
    }
  }
}

function checkCredentials(
  declared: DeclaredProvider,
  base: Provider | undefined,
  report: ReportProblem,
): void {
  const { api_key, credentials } = declared
  if (credentials === undefined) return
  const form = base && credentialFormOf(base)
  if (api_key !== undefined) report(['credentials'], 'cannot be combined with api_key')
  else if (!form) report(['credentials'], 'is not for this provider; use api_key')
  else checkCredentialForm(credentials, form, report)
}

function checkCredentialForm(credentials: unknown, form: CredentialForm, report: ReportProblem): void {
  try {
    parseCredentialObject(credentials, form)
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    report(['credentials', ...error.path], error.message)
  }
}

function checkSettings(
  { settings = {} }: DeclaredProvider,
  base: Provider | undefined,
  report: ReportProblem,
): void {
  for (const name of settingNames) {
    const value = settings[name]
    if (value === undefined) continue
    if (!base?.settings?.[name]) report(['settings', name], 'is not a setting of this provider')
    else if (!settingPatterns[name].test(value))
      report(['settings', name], 'is not a valid value for this setting')
  }
}

function checkModels(models: DeclaredModel[], slugs: ReadonlySet<string>, report: ReportProblem): void {
  const names = new Set<string>()
  for (const [index, model] of models.entries()) {
    const reportHere: ReportProblem = (path, message) => report(['models', index, ...path], message)
    checkAuthor(model, reportHere)
    checkName(model.id, ['models', index, 'id'])
    for (const [aliasIndex, alias] of model.aliases.entries())
      checkName(alias, ['models', index, 'aliases', aliasIndex])
    checkEndpoints(model, ['models', index, 'endpoints'], slugs, report)
  }

  function checkName(name: string, path: (string | number)[]): void {
    if (names.has(name)) report(path, `"${name}" is declared twice`)
    names.add(name)
  }
}

/** Requests to a name of the gateway's own models would not reach a declared one. */
export function checkAuthor({ id, aliases }: DeclaredModel, report: ReportProblem): void {
  const problem = `must not begin with "${routerPrefix}", which is reserved for router models`
  if (id.startsWith(routerPrefix)) report(['id'], problem)
  for (const [index, alias] of aliases.entries())
    if (alias.startsWith(routerPrefix)) report(['aliases', index], problem)
}

export function checkEndpoints(
  model: DeclaredModel,
  path: (string | number)[],
  slugs: ReadonlySet<string>,
  report: ReportProblem,
): void {
  const tags = new Set<string>()
  for (const [index, endpoint] of model.endpoints.entries()) {
    if (!slugs.has(endpoint.provider)) {
      report([...path, index, 'provider'], `there is no provider "${endpoint.provider}"`)
    }
    const tag = tagOf(endpoint)
    if (tags.has(tag)) {
      report([...path, index], `a second endpoint on "${endpoint.provider}" needs its own variant`)
    }
    tags.add(tag)
  }
}
