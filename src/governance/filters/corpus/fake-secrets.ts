const letters = 'FAKEKEYFORTESTSONLY'

/** Repeats a pattern to this length: the result has the format of a secret, and is plainly none. */
function fill(length: number, pattern = `${letters}0${letters.toLowerCase()}1`): string {
  return pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length)
}

const hex = (length: number) => fill(length, '00face11')
const base58 = (length: number) => fill(length, 'FakeKeyForTestsPnLy2')

/** Values of each format, some with several forms. */
const formats: Readonly<Record<string, readonly string[]>> = {
  'aws-access-key-id': ['AKIA', 'ASIA', 'ABIA', 'ACCA', 'A3TX'].map((prefix) => prefix + fill(16, letters)),
  'github-token': ['p', 'o', 'u', 's', 'r'].map((kind) => `gh${kind}_${fill(36)}`),
  'github-fine-grained-pat': [`github_pat_${fill(22)}_${fill(59)}`],
  'gitlab-personal-access-token': [`glpat-${fill(20)}`],
  'vendor_b-api-key': ['proj', 'svcacct', 'admin'].map((kind) => `sk-${kind}-${fill(48)}`),
  'vendor_b-legacy-api-key': [`sk-${fill(20)}T3BlbkFJ${fill(20)}`],
  'vendor_a-api-key': ['api03', 'admin01'].map((kind) => `sk-ant-${kind}-${fill(93)}AA`),
  'service-api-key': [`sk-svc-v1-${hex(64)}`, `sk-hg-v1-${hex(64)}`],
  'vendor_c-api-key': [`AIza${fill(35)}`],
  'vendor_c-oauth-client-secret': [`GOCSPX-${fill(28)}`],
  'stripe-secret-key': ['sk_live', 'sk_test', 'rk_live', 'rk_test'].map((prefix) => `${prefix}_${fill(24)}`),
  'slack-token': ['b', 'p', 'o', 's'].map((kind) => `xox${kind}-${fill(12, '0123456789')}-${fill(24)}`),
  'slack-legacy-workspace-token': ['a', 'r'].map((kind) => `xox${kind}-2-${fill(24)}`),
  'slack-app-token': [`xapp-1-A0FAKEFAKE0-${fill(13, '0123456789')}-${hex(64)}`],
  'slack-webhook-url': ['services', 'workflows', 'triggers'].map(
    (kind) => `https://hooks.slack.com/${kind}/T00FAKE00/B00FAKE00/${fill(24)}`,
  ),
  'npm-access-token': [`npm_${fill(36)}`],
  'pypi-upload-token': [`pypi-AgEIcHlwaS5vcmc${fill(100)}`],
  'sendgrid-api-key': [`SG.${fill(22)}.${fill(43)}`],
  'model-hub-access-token': [`hf_${fill(34, letters + letters.toLowerCase())}`],
  'databricks-api-token': [`dapi${hex(32)}`, `dapi${hex(32)}-2`],
  'atlassian-api-token': [`ATATT3${fill(180)}=0FAKE000`],
  'doppler-token': ['pt', 'st.dev', 'ct', 'sa', 'scim', 'audit'].map((kind) => `dp.${kind}.${fill(43)}`),
  'linear-api-key': [`lin_api_${fill(40)}`],
  'shopify-access-token': ['at', 'ca', 'pa', 'ss'].map((kind) => `shp${kind}_${hex(32)}`),
  'telegram-bot-token': [`123456789:AA${fill(33)}`],
  'age-secret-key': [`AGE-SECRET-KEY-1${fill(58, 'FAKE0KEY2')}`],
  'private-key-block': ['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '].map(
    (kind) =>
      `-----BEGIN ${kind}PRIVATE KEY-----\n${fill(64)}\n${fill(40)}\n-----END ${kind}PRIVATE KEY-----`,
  ),
  'json-web-token': [`eyJ${fill(33)}.eyJ${fill(60)}.${fill(43)}`],
  'bitcoin-wif-uncompressed': ['5H', '5J', '5K'].map((prefix) => prefix + base58(49)),
  'bitcoin-wif-compressed': ['K', 'L'].map((prefix) => prefix + base58(51)),
  'bitcoin-extended-private-key': [...'xyztuvYZUV'].map((prefix) => `${prefix}prv${base58(107)}`),
  'ethereum-private-key': [`0x${hex(64)}`],
  'digitalocean-token': ['p', 'o', 'r', 's'].map((kind) => `do${kind}_v1_${hex(64)}`),
}

export const secretFormats = Object.keys(formats)

/** All forms of a format. */
export function fakeSecrets(id: string): readonly string[] {
  const values = formats[id]
  if (!values) throw new Error(`Unknown secret format ${id}`)
  return values
}

export function fakeSecret(id: string): string {
  return fakeSecrets(id)[0] ?? ''
}
