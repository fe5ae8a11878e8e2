import { z } from 'zod'
import { signInFields } from '../sign-in/all.ts'
import { declaredProvider } from './declared.ts'
import { declaredEndpoint, declaredModel, imageCapabilities } from './declared-model.ts'
import { pricing } from './price.ts'

// openapi.json says each once.
z.globalRegistry
  .add(pricing, { id: 'DeclaredPricing' })
  .add(imageCapabilities, { id: 'DeclaredImage' })
  .add(declaredEndpoint, { id: 'DeclaredEndpoint' })
  .add(declaredModel, { id: 'DeclaredModel' })

type WithoutDefault<S> = S extends z.ZodDefault<infer Inner> ? Inner : S

type PartialSchema<S extends z.ZodRawShape> = z.ZodObject<
  { [K in keyof S]: z.ZodOptional<Extract<WithoutDefault<S[K]>, z.ZodType>> },
  z.core.$strict
>

/** Nothing is required, and what is not sent stays unsaid: a default would hide what lies beneath. */
function toPartialSchema<S extends z.ZodRawShape>(shape: S): PartialSchema<S> {
  const fields = Object.entries(shape).map(([name, field]) => [
    name,
    z.optional(field instanceof z.ZodDefault ? field.unwrap() : field),
  ])
  return z.strictObject(Object.fromEntries(fields)) as unknown as PartialSchema<S>
}

/** Of each sign-in scheme: they decide where a credential is sent. */
const signInFieldMask = Object.fromEntries(Object.keys(signInFields).map((name) => [name, true])) as {
  [Name in keyof typeof signInFields]: true
}

/** Of a provider: whether there is one, what decides where a credential goes, or is one that is more than a token. */
const fileOnlyFields = {
  enabled: true,
  like: true,
  credentials: true,
  settings: true,
  ...signInFieldMask,
} as const

/** What an operator may say of each kind at run time: the fields of headgate.yaml, as many as are to change. */
export const providerOverride = declaredProvider
  .omit({ slug: true, ...fileOnlyFields })
  .meta({ id: 'ProviderEdit' })
export const modelOverride = toPartialSchema(declaredModel.omit({ id: true }).shape).meta({ id: 'ModelEdit' })
export const endpointOverride = toPartialSchema(
  declaredEndpoint.omit({ provider: true, variant: true }).shape,
).meta({
  id: 'EndpointEdit',
})

export type ProviderOverride = z.output<typeof providerOverride>
