import { type Detector, mergeSpans, type Span } from './detector.ts'

interface SecretFormat {
  id: string
  /** Begins with text that no other word has, so that a search finds few places to look at. */
  pattern: RegExp
}

/** Every pattern is bounded, and cannot begin in the middle of a longer word; an escaped line break is none. */
function format(id: string, pattern: string): SecretFormat {
  return { id, pattern: new RegExp(`(?:(?<![A-Za-z0-9_])|(?<=\\\\[nrt]))(?:${pattern})`, 'g') }
}

const end = '(?![A-Za-z0-9_-])'
/** End of formats without a prefix: not a part of base64. */
const keyEnd = '(?![A-Za-z0-9_+/=-])'

const formats: readonly SecretFormat[] = [
  format('aws-access-key-id', `(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])`),
  format('github-token', `gh[pousr]_[A-Za-z0-9]{36,255}${end}`),
  format('github-fine-grained-pat', `github_pat_[A-Za-z0-9_]{60,255}`),
  format('gitlab-personal-access-token', `glpat-[A-Za-z0-9_-]{20,64}(?:\\.[A-Za-z0-9_-]{2,64}){0,2}`),
  format('vendor_b-api-key', `sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,200}`),
  format('vendor_b-legacy-api-key', `sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}${end}`),
  format('vendor_a-api-key', `sk-ant-(?:api03|admin01)-[A-Za-z0-9_-]{80,120}AA${end}`),
  format('service-api-key', `sk-(?:svc|hg)-v1-[0-9a-f]{64}${end}`),
  format('vendor_c-api-key', `AIza[A-Za-z0-9_-]{35}${end}`),
  format('vendor_c-oauth-client-secret', `GOCSPX-[A-Za-z0-9_-]{28}${end}`),
  format('stripe-secret-key', `(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,247}(?![A-Za-z0-9])`),
  format('slack-token', `xox[bpos]-[0-9A-Za-z-]{20,250}`),
  format('slack-legacy-workspace-token', `xox[ar]-(?:\\d-)?[0-9A-Za-z-]{8,250}`),
  format('slack-app-token', `xapp-\\d-[A-Z0-9]{6,20}-\\d{6,20}-[0-9a-f]{32,128}`),
  format(
    'slack-webhook-url',
    `https://hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,120}`,
  ),
  format('npm-access-token', `npm_[A-Za-z0-9]{36}${end}`),
  format('pypi-upload-token', `pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,1000}`),
  format('sendgrid-api-key', `SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}${end}`),
  format('model-hub-access-token', `hf_[A-Za-z0-9]{30,40}(?![A-Za-z0-9])`),
  format('databricks-api-token', `dapi[0-9a-f]{32}(?:-\\d)?${end}`),
  format('atlassian-api-token', `ATATT3[A-Za-z0-9_=-]{50,300}`),
  format(
    'doppler-token',
    `dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}${end}`,
  ),
  format('linear-api-key', `lin_api_[A-Za-z0-9]{40}${end}`),
  format('shopify-access-token', `shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}${end}`),
  format('telegram-bot-token', `\\d{8,10}:AA[A-Za-z0-9_-]{33}${end}`),
  format('age-secret-key', `AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`),
  format('json-web-token', `eyJ[A-Za-z0-9_-]{10,4000}\\.eyJ[A-Za-z0-9_-]{10,8000}\\.[A-Za-z0-9_-]{16,2000}`),
  format('bitcoin-wif-uncompressed', `5[HJK][1-9A-HJ-NP-Za-km-z]{49}${keyEnd}`),
  format('bitcoin-wif-compressed', `[KL][1-9A-HJ-NP-Za-km-z]{51}${keyEnd}`),
  format('bitcoin-extended-private-key', `[xyztuvYZUV]prv[1-9A-HJ-NP-Za-km-z]{107}${end}`),
  format('ethereum-private-key', `0x[0-9a-fA-F]{64}${end}`),
  format('digitalocean-token', `do[oprs]_v1_[0-9a-f]{64}${end}`),
]

const blockMark = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** A key without its end is redacted up to here. */
const maxBlockLength = 20_000

/** Keys and tokens by the formats their issuers publish; random text alone is no secret. */
export const findSecrets: Detector = (text) => {
  const spans: Span[] = findPrivateKeys(text)
  for (const { id, pattern } of formats) {
    for (const { index, 0: match } of text.matchAll(pattern)) {
      if (id === 'ethereum-private-key' && isPublicHash(text, index)) continue
      spans.push({ start: index, end: index + match.length, label: `[SECRET:${id}]`, kind: id })
    }
  }
  return mergeSpans(spans)
}

/** Transactions, blocks and topics have public names of the same form. */
function isPublicHash(text: string, index: number): boolean {
  const [before, after] = [text.slice(Math.max(0, index - 40), index), text.slice(index + 66, index + 100)]
  const name = /\b(?:tx|txn|transaction|block|parent|hash|topics?|root|digest|commitment|salt|event|receipt)/i
  return (
    (name.test(before) || /^\W{0,6}(?:is )?(?:the |a )?(?:tx|transaction|block|hash)/i.test(after)) &&
    !/priv|secret/i.test(before)
  )
}

function findPrivateKeys(text: string): Span[] {
  const spans: Span[] = []
  let start: number | null = null
  const add = (end: number) => {
    if (start === null) return
    const kind = 'private-key-block'
    spans.push({ start, end: Math.min(end, start + maxBlockLength), label: `[SECRET:${kind}]`, kind })
    start = null
  }
  for (const { index, 0: mark, 1: side } of text.matchAll(blockMark)) {
    add(side === 'END' ? index + mark.length : index)
    if (side === 'BEGIN') start = index
  }
  add(text.length)
  return spans
}
