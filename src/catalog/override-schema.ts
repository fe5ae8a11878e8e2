import { z } from 'zod'
import { declaredProvider } from './declared.ts'
import { declaredEndpoint, declaredModel, imageCapabilities, videoCapabilities } from './declared-model.ts'
import { pricing } from './price.ts'
import { authFields } from './provider-auth/all.ts'

// Named, so that openapi.json contains each once.
z.globalRegistry
  .add(pricing, { id: 'DeclaredPricing' })
  .add(imageCapabilities, { id: 'DeclaredImage' })
  .add(videoCapabilities, { id: 'DeclaredVideo' })
  .add(declaredEndpoint, { id: 'DeclaredEndpoint' })
  .add(declaredModel, { id: 'DeclaredModel' })

type WithoutDefault<S> = S extends z.ZodDefault<infer Inner> ? Inner : S

type PartialSchema<S extends z.ZodRawShape> = z.ZodObject<
  { [K in keyof S]: z.ZodOptional<Extract<WithoutDefault<S[K]>, z.ZodType>> },
  z.core.$strict
>

/** All fields optional and without defaults: a default would override the value beneath. */
function toPartialSchema<S extends z.ZodRawShape>(shape: S): PartialSchema<S> {
  const fields = Object.entries(shape).map(([name, field]) => [
    name,
    z.optional(field instanceof z.ZodDefault ? field.unwrap() : field),
  ])
  return z.strictObject(Object.fromEntries(fields)) as unknown as PartialSchema<S>
}

/** Fields of each auth scheme: they decide where a credential is sent. */
const authFieldMask = Object.fromEntries(Object.keys(authFields).map((name) => [name, true])) as {
  [Name in keyof typeof authFields]: true
}

/** Fields of a provider that decide whether it exists, where a credential is sent, or that are a credential in JSON. */
const fileOnlyFields = {
  enabled: true,
  like: true,
  credentials: true,
  settings: true,
  ...authFieldMask,
} as const

/** Overrides that an operator may make at run time: any of these fields of headgate.yaml. */
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
