import { secretsIn } from '../catalog/credential.ts'
import type { FrameReader, SseFrame } from '../lib/sse.ts'
import type { HeaderMap } from '../sign-in/scheme.ts'
import type { Access } from './access.ts'

/** Shorter values are words of a protocol, or stand for a key where none is needed. */
const shortestSecret = 16

/** What a provider was signed in with, in every way it could say it again. */
export function secretsOf({ credential, endpoint }: Access, { authorization = '' }: HeaderMap): string[] {
  const secrets = [
    ...secretsIn(credential),
    // What was given in exchange for a credential is as secret.
    ...(authorization === '' ? [] : [authorization.replace(/^Bearer /, '')]),
    ...Object.values(endpoint.provider.headers ?? {}).filter(isLong),
  ]
  return [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))]
}

function isLong(secret: string): boolean {
  return secret.length >= shortestSecret
}

/** A provider's words without what it was signed in with. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((words, secret) => words.replaceAll(secret, '***'), text)
}

/** In a text that is still to be read: a short one may be the name of a field. */
export function withoutLongSecrets(text: string, secrets: readonly string[]): string {
  return withoutSecrets(text, secrets.filter(isLong))
}

/** An error that is there, and not the null that says that there is none. */
const toldError = /"error"\s*(?::\s*[{["]|[,}])/

/** Told only to who needs to know them: hardly any reply is about an error. */
export type Secrets = () => readonly string[]

/** A reply that says what went wrong may say it with the key. */
export function discreetReply(text: string, secrets: Secrets): string {
  // Nearly every event of every stream passes here, and a search for a word is cheaper than one for a pattern.
  if (!text.includes('"error"') || !toldError.test(text)) return text
  return withoutLongSecrets(text, secrets())
}

/** The same of a stream. */
export function discreetFrames(frames: FrameReader, secrets: Secrets): FrameReader {
  const each = (list: SseFrame[]): SseFrame[] => {
    for (const frame of list) frame.data = discreetReply(frame.data, secrets)
    return list
  }
  return { push: (bytes) => each(frames.push(bytes)), end: () => each(frames.end()) }
}

/** The name of a resource of AWS begins with the number of an account. */
const resourceName = /\barn:[\w-]+:[^\s'",]+/g

export function withoutAccounts(message: string): string {
  return message.replace(resourceName, '***')
}
