// Secrets of any form, by the name that they are assigned to.
import type { Span } from './detector.ts'
import { computeEntropy, hasWords, isPlaceholder, isRandom, isSequence } from './random-text.ts'

/** What stands before a value, at most: the name, the operator and quotes. */
const contextLength = 110

const valuePattern = /(?<![A-Za-z0-9_])[A-Za-z0-9_~+/-][A-Za-z0-9_.~+/-]{8,1023}={0,3}/g

/** `name =`, `"name": "`, `name := '`, `<name>`, `setName("`, `"name", "`, `name => `, `name is`, `--name `, `key="name" value="`. */
const operator =
  /(?:["'],?\s{1,12}["']?value["']?\s?[:=]|[=:]>|->|[:?.+|!<]{0,2}={1,3}|:{1,2}|\|\||>|\(|["'`]\s{0,2},|(?<![\w-])--?[\w-]{1,40}|\s(?:is|as|are|to|was|equals)|\s(?=["'`]))[\s"'`\\]{0,20}$/i

/** A type between the name and the operator: `token: string =`, `token string =`. */
const type = /(?:\s?[:?]{1,2}\s?|\s)&?(?:'static )?(?:string|str|text|char\s?\*?|varchar|final|const)$/i
const name = /[A-Za-z_$][\w$.\- ]{0,59}$/

interface Name {
  words: string[]
  last: string
}

/** Names of secrets by their words, joined by single spaces. */
const secretName =
  /\b(?:tokens?|secrets?|passw(?:or)?d|passwd|passphrase|pwd|passwort|apikeys?|authkey|credentials?|creds|pat|jwt|bearer|authorization|authtoken|(?:api|access|account|app|application|auth|client|consumer|deploy|encrypt(?:ion)?|license|master|private|secret|security|service|session|shared|signing|storage|subscription|webhook|admin|root|user|license|integration|server|sdk|ingest(?:ion)?|connection|crypt|hmac|cipher|rest|write|read) keys?)\b/
/** Words at the end of a name that say what of a secret it is: `token_count`, `secretName`, `key_id`. */
const otherWord =
  /\b(?:ids?|name|names|path|paths|file|files|filename|dir|url|uri|type|types|count|counts|limit|length|len|size|expiry|expires|expiration|at|in|ttl|version|format|prefix|suffix|endpoint|host|region|arn|alias|label|budget|usage|fingerprint|policy|algorithm|alg|hash|digest|checksum|sha|md5|field|column|param|header|ref|reference|index|used|max|min|date|time|timestamp|status|provider|manager|class|interval|scope|scopes|issuer|audience|address|mint|contract)$/
const otherName =
  /\b(?:public|pub|primary|foreign|partition|sort|cache|idempotency|csrf|xsrf|page|next page|continuation|cursor|pagination|max|prompt|completion|input|output|total|num|cancellation|tokenizer|anti forgery|etag|integrity|commit|revision|nonce|sitekey|site key|hot|shortcut|(?:row|range|hash|map|s3|object|event|metric|translation|i18n|item|store|config|query|group|join|dedup|issue|registry|host|known|lookup|index|composite|routing|message|unique|dict|tree|node|react|locale|arrow|enter|escape|tab) keys?)\b/
const passwordName = /\b(?:passw(?:or)?d|passwd|passphrase|pwd|passwort)\b/

/** Keys that are named by nothing but `key` must be long and look random. */
const minKeyLength = 20
const minNumberLength = 14
const minLength = 10

/** Random values whose name says that they are secret. */
export function findAssignedSecrets(text: string): Span[] {
  const spans: Span[] = []
  for (const { index, 0: match } of text.matchAll(valuePattern)) {
    const value = trimEnd(match)
    if (value.length < minLength || !/\d|[a-z][A-Z]/.test(value)) continue
    if (isReference(text, index, index + value.length)) continue
    const kind = classifyName(text.slice(Math.max(0, index - contextLength), index), value)
    if (kind && isSecretValue(value, kind))
      spans.push({ start: index, end: index + value.length, label: `[SECRET:${kind}]`, kind })
  }
  return spans
}

/** A point ends a sentence, and a slash or a hyphen a path. */
function trimEnd(value: string): string {
  return value.replace(/[./-]+$/, '')
}

/** `${NAME}`, `%NAME%`, `{{name}}`, `<name>`, `name(`: filled in elsewhere. */
function isReference(text: string, start: number, end: number): boolean {
  const [before, after] = [text.charAt(start - 1), text.charAt(end)]
  if (/[${%#@&*[]/.test(before) || /[([{%@]/.test(after)) return true
  return before === '<' && after === '>'
}

type Kind = 'assigned-secret' | 'assigned-key' | 'assigned-password' | 'authorization-header'

function classifyName(before: string, value: string): Kind | null {
  if (/\b(?:authorization|auth)["'`]?\s{0,3}[:=,>]{1,2}[\s"'`]{0,6}(?:[A-Za-z]{3,12}\s{1,3})?$/i.test(before))
    return 'authorization-header'
  if (/\bbearer\s{1,3}["'`]?$/i.test(before) && value.length >= minKeyLength) return 'authorization-header'
  const found = operator.exec(before)
  if (!found) return null
  const [{ words, last }, isFlag] = [readName(before, found), /^--?\w/.test(found[0])]
  if (words.length === 0 || words.length > 12) return null
  const all = words.join(' ')
  if (passwordName.test(all) && !otherWord.test(all)) return 'assigned-password'
  if (otherName.test(all) || otherWord.test(all)) return null
  if (secretName.test(all)) return 'assigned-secret'
  if (last !== 'key' && last !== 'keys') return null
  if (words.length > 1 && !notNames.has(words.at(-2) ?? '')) return 'assigned-secret'
  return isFlag ? null : 'assigned-key'
}

/** Words before `key` that do not say whose key it is. */
const notNames: ReadonlySet<string> = new Set(
  'the a an this that with by for of and or const let var string export'.split(' '),
)

function readName(before: string, found: RegExpExecArray): Name {
  const flag = /^--?([\w-]+)/.exec(found[0])?.[1]
  const text =
    flag ??
    before
      .slice(0, found.index)
      .replace(/["'`\])\s\\]+$/, '')
      .replace(type, '')
      .replace(/["'`\])\s]+$/, '')
  const words = (name.exec(text)?.[0] ?? '')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter(Boolean)
  return { words, last: words.at(-1) ?? '' }
}

function isSecretValue(value: string, kind: Kind): boolean {
  if (kind === 'assigned-password') return isPassword(value)
  if (isName(value)) return false
  if (kind === 'assigned-key')
    return (
      value.length >= minKeyLength && /^[A-Za-z0-9+/_-]+=*$/.test(value) && isRandom(value) && !isUuid(value)
    )
  if (/^\d+$/.test(value)) return value.length >= minNumberLength && isRandom(value)
  return isRandom(value)
}

function isUuid(value: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)
}

/** Dates, versions, addresses, paths and identifiers of a program. */
function isName(value: string): boolean {
  if (/^[\d.\-/_]+$/.test(value) && !/^\d+$/.test(value)) return true
  if (
    /^(?:\.{1,2}\/|~\/)|^v?\d+\.\d+|\.(?:com|org|net|io|json|ya?ml|[jt]sx?|py|go|pem|txt|env|html?)$/i.test(
      value,
    )
  )
    return true
  const parts = value.split(/[./_-]/)
  if (parts.length < 3) return false
  const words = parts.filter(
    (part) => part === '' || /^\d{1,4}$/.test(part) || hasWords(part) || part.length < 4,
  )
  return words.length > 0.6 * parts.length
}

const commonPassword =
  /^(?:password|passwd|passphrase|pass|pwd|secret|string|required|hidden|null|none|true|false)\W{0,3}\d{0,2}$/i

/** Passwords are words too, but then with a number or a sign in them. */
export function isPassword(value: string): boolean {
  if (isPlaceholder(value) || isSequence(value) || commonPassword.test(value)) return false
  if (isRandom(value)) return true
  if (isIdentifier(value) || computeEntropy(value) < 2.5) return false
  return /[A-Za-z]/.test(value) && /[^A-Za-z]/.test(value)
}

/** `userPassword`, `MAX_LENGTH`, `secret-2-levels`, `Uint8Array`, `form.field`, `values[3]`, `read()`. */
function isIdentifier(value: string): boolean {
  return (
    /^[a-z]+(?:[A-Z][a-z]+)*$|^[A-Z_\d]+$|^[a-z]+(?:[._-][a-z]+)+$|^[A-Za-z]+\d+[A-Z][A-Za-z]*$/.test(
      value,
    ) ||
    /\(.{0,40}\)$|^[\w$.]+\.[a-z]\w*$|^[\w.$]+\[\w*\]$/.test(value) ||
    (/^[a-z\d]+(?:[-_.][a-z\d]+)+$/.test(value) && hasWords(value))
  )
}
