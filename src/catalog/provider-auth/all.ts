import type { z } from 'zod'
import { accessKey } from './access-key.ts'
import { none } from './none.ts'
import type { AuthScheme } from './scheme.ts'
import { serviceAccount } from './service-account.ts'
import { token } from './token.ts'

/** Every way to authenticate to a provider. A scheme is a file of its own and a line here. */
const schemes = [none, token, accessKey, serviceAccount] as const

type Parts<S> =
  S extends AuthScheme<infer Credential, infer Options, infer Fields>
    ? { credential: Credential; options: Options; fields: (fields: Fields) => void }
    : never
type SchemeParts = Parts<(typeof schemes)[number]>

/** A credential that requests are signed with. */
export type SigningCredential = SchemeParts['credential']

/** The declaration by which a provider accepts the JSON credentials of a scheme. */
export type AuthOptions = SchemeParts['options']

/** The fields of all schemes together. */
type OverrideFields = SchemeParts['fields'] extends (fields: infer All) => void ? All : never

type AnyScheme = AuthScheme<SigningCredential, AuthOptions, z.ZodRawShape>

export const authSchemes: readonly AnyScheme[] = schemes

const schemeByKind: ReadonlyMap<string, AnyScheme> = new Map(
  authSchemes.map((scheme) => [scheme.kind, scheme]),
)

export function findScheme(kind: SigningCredential['kind']): AnyScheme {
  const scheme = schemeByKind.get(kind)
  if (!scheme) throw new Error(`there is no auth scheme for ${kind}`)
  return scheme
}

/** Fields of a provider in headgate.yaml that change what it declares in `auth`. */
export const authFields = Object.assign(
  {},
  ...authSchemes.map(({ format }) => format?.overrides?.fields),
) as OverrideFields

export function applyAuthFields(
  options: AuthOptions,
  declared: z.output<z.ZodObject<OverrideFields>>,
): AuthOptions {
  return findScheme(options.scheme).format?.overrides?.apply(options, declared) ?? options
}
