import type { z } from 'zod'
import { accessKey } from './access-key.ts'
import { none } from './none.ts'
import type { SignInScheme } from './scheme.ts'
import { serviceAccount } from './service-account.ts'
import { token } from './token.ts'

/** Every way to authenticate to a provider. A scheme is a file of its own and a line here. */
const schemes = [none, token, accessKey, serviceAccount] as const

type Parts<S> =
  S extends SignInScheme<infer Credential, infer Options, infer Fields>
    ? { credential: Credential; options: Options; fields: (fields: Fields) => void }
    : never
type SchemeParts = Parts<(typeof schemes)[number]>

/** What a request is signed with. */
export type SigningCredential = SchemeParts['credential']

/** What a provider declares to accept the JSON credentials of a scheme. */
export type SignInOptions = SchemeParts['options']

/** The fields of all schemes together. */
type OverrideFields = SchemeParts['fields'] extends (fields: infer All) => void ? All : never

type AnyScheme = SignInScheme<SigningCredential, SignInOptions, z.ZodRawShape>

export const signInSchemes: readonly AnyScheme[] = schemes

const schemeByKind: ReadonlyMap<string, AnyScheme> = new Map(
  signInSchemes.map((scheme) => [scheme.kind, scheme]),
)

export function findScheme(kind: SigningCredential['kind']): AnyScheme {
  const scheme = schemeByKind.get(kind)
  if (!scheme) throw new Error(`there is no sign-in scheme for ${kind}`)
  return scheme
}

/** Fields of a provider in headgate.yaml that change what it declares in `signIn`. */
export const signInFields = Object.assign(
  {},
  ...signInSchemes.map(({ format }) => format?.overrides?.fields),
) as OverrideFields

export function applySignInFields(
  options: SignInOptions,
  declared: z.output<z.ZodObject<OverrideFields>>,
): SignInOptions {
  return findScheme(options.scheme).format?.overrides?.apply(options, declared) ?? options
}
