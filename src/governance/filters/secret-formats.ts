// The secrets that are recognized by their form alone.

/** `prefixes` `rest`: all text that a secret begins with, then a pattern for what follows it. */
type Row = readonly [id: string, prefixes: string, rest: string]

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const word = '[A-Za-z0-9_-]'
const alnum = '[A-Za-z0-9]'
const hex = '[0-9a-f]'
const base58 = '[1-9A-HJ-NP-Za-km-z]'
const base64 = '[A-Za-z0-9+/]'

const models: readonly Row[] = [
  ['vendor_b-api-key', 'sk-proj- sk-svcacct- sk-admin- sk-None-', `${word}{40,200}`],
  ['vendor_b-legacy-api-key', 'sk-', `${alnum}{20}T3BlbkFJ${alnum}{20}`],
  ['vendor_a-api-key', 'sk-ant-', `[a-z]{3,8}\\d{2}-${word}{80,120}`],
  ['service-api-key', 'sk-svc-v1- sk-hg-v1- sk-or-v1-', `${hex}{64}`],
  ['langfuse-secret-key', 'sk-lf-', uuid],
  ['helicone-api-key', 'sk-helicone-', `${word}{20,80}`],
  ['model-api-key', 'sk-', `${alnum}{32,64}`],
  ['vendor_c-api-key', 'AIza', `${word}{35}`],
  ['vendor_c-auth-key', 'AQ.', `${word}{40,64}`],
  ['vendor_c-oauth-client-secret', 'GOCSPX-', `${word}{28}`],
  ['vendor_c-oauth-token', 'ya29.', '[A-Za-z0-9_.-]{30,400}'],
  ['vendor_c-refresh-token', '1//0', `${word}{40,120}`],
  ['groq-api-key', 'gsk_', `${alnum}{40,64}`],
  ['xai-api-key', 'xai-', `${alnum}{60,120}`],
  ['perplexity-api-key', 'pplx-', `${alnum}{40,64}`],
  ['model-hub-access-token', 'hf_', '[A-Za-z0-9]{30,40}'],
  ['model-hub-organization-token', 'api_org_', '[A-Za-z0-9]{30,40}'],
  ['replicate-api-token', 'r8_', `${alnum}{37,40}`],
  ['fireworks-api-key', 'fw_', `${alnum}{20,48}`],
  ['nvidia-api-key', 'nvapi-', `${word}{60,72}`],
  ['cerebras-api-key', 'csk-', `${alnum}{40,64}`],
  ['together-api-key', 'tgp_v1_', `${word}{40,48}`],
  ['jina-api-key', 'jina_', `${word}{50,80}`],
  ['voyage-api-key', 'pa-', `${word}{43}`],
  ['friendli-token', 'flp_', `${word}{40,64}`],
  ['anyscale-api-key', 'esecret_', '[a-z0-9]{24,48}'],
  ['langsmith-api-key', 'lsv2_pt_ lsv2_sk_', `${hex}{32}_${hex}{10}`],
  ['tavily-api-key', 'tvly-', `${word}{28,64}`],
  ['firecrawl-api-key', 'fc-', `${hex}{32}`],
  ['pinecone-api-key', 'pcsk_', `${word}{50,90}`],
  ['e2b-api-key', 'e2b_', `${hex}{40}`],
  ['brave-search-api-key', 'BSA', `${word}{27,28}`],
  ['speech-api-key', 'sk_', `${hex}{48}`],
  ['cursor-api-key', 'key_', `${hex}{64}`],
  ['bedrock-api-key', 'ABSK', `${base64}{100,270}={0,2}`],
  ['bedrock-short-term-key', 'bedrock-api-key-', `${base64}{28,4000}={0,2}`],
]

const clouds: readonly Row[] = [
  // The secret key is in the same line or the next one.
  [
    'aws-access-key-pair',
    'AKIA ASIA ABIA ACCA',
    `[A-Z0-9]{16}["']?[\\s:;,|/]{1,4}["']?${base64}{40}(?![A-Za-z0-9+/=])`,
  ],
  ['aws-access-key-id', 'AKIA ASIA ABIA ACCA', '[A-Z0-9]{16}(?![A-Za-z0-9])'],
  ['aws-access-key-id', 'A3T', '[A-Z0-9]{17}(?![A-Za-z0-9])'],
  ['aws-mws-token', 'amzn.mws.', uuid],
  ['alibaba-access-key-id', 'LTAI', `${alnum}{17,24}`],
  ['tencent-secret-id', 'AKID', `${alnum}{32}`],
  ['yandex-api-key', 'AQVN', `${word}{35,38}`],
  ['yandex-access-key', 'YC', `${word}{38}`],
  ['yandex-iam-token', 't1.', '[A-Za-z0-9_-]{4,400}={0,2}\\.[A-Za-z0-9_-]{86}={0,2}'],
  ['digitalocean-token', 'dop_v1_ doo_v1_ dor_v1_ dos_v1_', `${hex}{64}`],
  ['heroku-api-key', 'HRKU-AA', `${word}{58}`],
  ['fly-access-token', 'fo1_', `${word}{43}`],
  ['fly-access-token', 'fm1_ fm1a_ fm1r_ fm2_', '[A-Za-z0-9+/=]{100,500}'],
  ['render-api-key', 'rnd_', `${alnum}{24,48}`],
  ['supabase-token', 'sbp_', `(?:v0_)?${hex}{40}`],
  ['supabase-secret-key', 'sb_secret_', `${word}{20,60}`],
  ['netlify-token', 'nfp_ nfc_ nfo_', `${alnum}{36,40}`],
  ['vercel-token', 'vcp_ vck_ vci_ vca_ vcr_', `${alnum}{24,80}`],
  ['cloudflare-origin-ca-key', 'v1.0-', `${hex}{24}-${hex}{146}`],
  ['cloudflare-token', 'cfut_ cfat_ cfk_', `${alnum}{36,56}`],
  ['databricks-api-token', 'dapi', `${hex}{32}(?:-\\d)?`],
  ['planetscale-credential', 'pscale_tkn_ pscale_pw_ pscale_oauth_', '[A-Za-z0-9_.=-]{32,64}'],
  ['mongodb-service-account-secret', 'mdb_sa_sk_', `${word}{30,60}`],
  ['neon-api-key', 'napi_', '[a-z0-9]{40,80}'],
  ['clickhouse-api-secret', '4b1d', `${alnum}{38}`],
  ['terraform-token', '', `${alnum}{14}\\.atlasv1\\.[A-Za-z0-9_=-]{60,70}`],
  ['vault-token', 'hvs. hvb. hvr.', `${word}{24,300}`],
  ['vault-legacy-token', 's. b. r.', '(?=[A-Za-z]{0,20}\\d)[A-Za-z0-9]{24}(?![A-Za-z0-9.])'],
  ['pulumi-access-token', 'pul-', `${hex}{40}`],
  [
    'doppler-token',
    'dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.',
    `(?:[a-z0-9_-]{2,35}\\.)?${alnum}{40,44}`,
  ],
  ['infracost-api-token', 'ico-', `${alnum}{32}`],
  ['openshift-token', 'sha256~', `${word}{43}`],
  ['tailscale-key', 'tskey-', `[a-z]{3,10}-[A-Za-z0-9_-]{20,80}`],
  ['scalingo-api-token', 'tk-us-', `${word}{48}`],
  ['onepassword-service-token', 'ops_eyJ', `${base64}{200,2000}={0,3}`],
  [
    'onepassword-secret-key',
    'A3-',
    '[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}',
  ],
  ['age-secret-key', 'AGE-SECRET-KEY-1', '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}'],
]

const development: readonly Row[] = [
  ['github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', `${alnum}{36,255}`],
  ['github-fine-grained-pat', 'github_pat_', '[A-Za-z0-9_]{60,255}'],
  ['gitlab-personal-access-token', 'glpat-', `${word}{20,64}(?:\\.[A-Za-z0-9_-]{2,64}){0,2}`],
  [
    'gitlab-token',
    'gldt- glrt- glrtr- glptt- glft- glimt- glagent- glsoat- glffct- gloas- glwt- glcbt- GR1348941',
    '[A-Za-z0-9_.-]{19,100}',
  ],
  ['bitbucket-app-password', 'ATBB', `${alnum}{32}`],
  ['atlassian-api-token', 'ATATT3 ATCTT3', '[A-Za-z0-9_=-]{50,300}'],
  ['circleci-token', 'CCIPAT_ CCIPRJ_', `${alnum}{10,30}_${hex}{40}`],
  ['npm-access-token', 'npm_', `${alnum}{36}`],
  ['pypi-upload-token', 'pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZ', `${word}{50,1000}`],
  ['rubygems-api-key', 'rubygems_', `${hex}{48}`],
  ['crates-api-token', 'cio', `${alnum}{32}`],
  ['nuget-api-key', 'oy2', '[a-z0-9]{43}'],
  ['clojars-token', 'CLOJARS_', '[A-Za-z0-9]{60}'],
  ['docker-token', 'dckr_pat_ dckr_oat_', `${word}{27,36}`],
  ['artifactory-api-key', 'AKCp', `${alnum}{65,75}`],
  ['artifactory-reference-token', 'cmVmdGtu', `${alnum}{56}`],
  ['postman-api-key', 'PMAK-', `${hex}{24}-${hex}{34}`],
  ['sentry-organization-token', 'sntrys_eyJ', '[A-Za-z0-9+/=_]{60,400}'],
  ['sentry-user-token', 'sntryu_', `${hex}{64}`],
  ['sonar-token', 'sqp_ squ_ sqa_', '[A-Za-z0-9=_-]{40}'],
  ['sourcegraph-token', 'sgp_', `(?:(?:${hex}{16}|local)_)?${hex}{40}`],
  ['grafana-service-account-token', 'glsa_', `${alnum}{32}_[0-9A-Fa-f]{8}`],
  ['grafana-cloud-token', 'glc_', `${base64}{32,400}={0,3}`],
  ['grafana-api-key', 'eyJrIjoi', `${base64}{60,400}={0,3}`],
  ['new-relic-key', 'NRAK- NRII- NRJS- NRAL-', `${word}{19,40}`],
  ['dynatrace-token', 'dt0c01. dt0s01. dt0s02.', '[A-Za-z0-9]{8,24}\\.[A-Za-z0-9]{64}'],
  ['prefect-api-key', 'pnu_ pnb_', `${alnum}{36}`],
  ['readme-api-key', 'rdme_', '[a-z0-9]{70}'],
  ['linear-api-key', 'lin_api_ lin_oauth_', `${alnum}{40,64}`],
  ['notion-token', 'ntn_ secret_', `${alnum}{43,50}`],
  ['figma-token', 'figd_ figdr_ figo_', `${word}{40,64}`],
  ['airtable-token', 'pat', `${alnum}{14}\\.${hex}{64}`],
  ['typeform-token', 'tfp_', '[A-Za-z0-9_.=-]{40,64}'],
  ['harness-token', 'pat. sat.', `${word}{22}\\.${alnum}{24}\\.${alnum}{20}`],
  ['octopus-api-key', 'API-', '[A-Z0-9]{26}'],
  ['contentful-token', 'CFPAT-', `${word}{43}`],
  ['launchdarkly-key', 'sdk- mob- api-', uuid],
  ['settlemint-token', 'sm_aat_ sm_pat_ sm_sat_', `${alnum}{16}`],
  ['endor-labs-key', 'endr+', `${word}{16}`],
  ['defined-networking-token', 'dnkey-', '[a-z0-9=_-]{26}-[a-z0-9=_-]{52}'],
  [
    'authress-key',
    'sc_ ext_ scauth_ authress_',
    '[A-Za-z0-9]{5,30}\\.[A-Za-z0-9]{4,6}\\.acc[_-][A-Za-z0-9-]{10,32}\\.[A-Za-z0-9+/_=-]{30,120}',
  ],
  ['adobe-client-secret', 'p8e-', `${alnum}{32}`],
  ['frameio-token', 'fio-u-', '[A-Za-z0-9_=-]{64}'],
  ['intra42-client-secret', 's-s4t2ud- s-s4t2af-', `${hex}{64}`],
  ['maxmind-license-key', '', `${alnum}{6}_${alnum}{29}_mmk`],
  ['nightfall-api-key', 'NF-', `${alnum}{32}`],
]

const services: readonly Row[] = [
  [
    'stripe-secret-key',
    'sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_',
    '[A-Za-z0-9]{10,247}(?![A-Za-z0-9])',
  ],
  ['webhook-signing-secret', 'whsec_', '[A-Za-z0-9+/=]{24,80}'],
  ['slack-token', 'xoxb- xoxp- xoxo- xoxs- xoxc- xoxd-', '[0-9A-Za-z%-]{20,250}'],
  ['slack-legacy-workspace-token', 'xoxa- xoxr-', '(?:\\d-)?[0-9A-Za-z-]{8,250}'],
  ['slack-app-token', 'xapp-', '\\d-[A-Z0-9]{6,20}-\\d{6,20}-[0-9a-z]{32,128}'],
  ['slack-configuration-token', 'xoxe.xoxb- xoxe.xoxp- xoxe-', '\\d-[A-Za-z0-9]{100,250}'],
  [
    'slack-webhook-url',
    'https://hooks.slack.com/',
    '(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,120}',
  ],
  [
    'discord-webhook-url',
    'https://discord.com/api/webhooks/ https://discordapp.com/api/webhooks/',
    `\\d{17,20}/${word}{60,80}`,
  ],
  ['discord-bot-token', 'M N O', `${word}{22,27}\\.${word}{6}\\.${word}{27,40}`],
  [
    'teams-webhook-url',
    'https://',
    `[a-z0-9-]{1,60}\\.webhook\\.office\\.com/webhookb2/[a-z0-9@-]{36,80}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{36}`,
  ],
  ['telegram-bot-token', '', `\\d{8,10}:AA?${word}{33,34}`],
  ['sendgrid-api-key', 'SG.', '[A-Za-z0-9_=-]{16,32}\\.[A-Za-z0-9_=-]{16,64}'],
  ['brevo-api-key', 'xkeysib- xsmtpsib-', `${hex}{64}-${alnum}{16}`],
  ['mailchimp-api-key', '', `${hex}{32}-us\\d{1,2}`],
  ['mailgun-api-key', 'key- pubkey-', `${hex}{32}`],
  ['mailgun-signing-key', '', `${hex}{32}-${hex}{8}-${hex}{8}`],
  ['resend-api-key', 're_', `[A-Za-z0-9]{8}_${alnum}{24}`],
  ['twilio-api-key', 'SK', '[0-9a-fA-F]{32}'],
  ['square-token', 'sq0atp- sq0csp- sq0idp-', `${word}{22,60}`],
  ['square-access-token', 'EAAA', '[A-Za-z0-9_+=-]{60}'],
  ['facebook-access-token', 'EAAM EAAC EAAB EAAG', `${alnum}{80,300}`],
  ['facebook-app-token', '', `\\d{15,16}(?:\\||%7C)${word}{27,40}`],
  ['twitter-bearer-token', 'AAAAAAAAAAAAAAAAAAAAA', '[A-Za-z0-9%]{50,120}'],
  ['shopify-access-token', 'shpat_ shpca_ shppa_ shpss_', '[0-9a-fA-F]{32}'],
  ['braintree-access-token', 'access_token$production$ access_token$sandbox$', `[a-z0-9]{16}\\$${hex}{32}`],
  ['razorpay-key', 'rzp_live_ rzp_test_', `${alnum}{14}`],
  ['paddle-api-key', 'pdl_live_apikey_ pdl_sdbx_apikey_', '[A-Za-z0-9_]{40,80}'],
  ['flutterwave-key', 'FLWSECK_TEST- FLWPUBK_TEST- FLWSECK- FLWPUBK-', '[A-Za-z0-9]{12,32}(?:-X)?'],
  ['gocardless-token', 'live_ sandbox_', '[A-Za-z0-9_=-]{40}'],
  ['lob-api-key', 'live_ test_ live_pub_ test_pub_', `${hex}{31,35}`],
  ['plaid-access-token', 'access-sandbox- access-development- access-production-', uuid],
  ['easypost-api-key', 'EZAK EZTK', `${alnum}{54}`],
  ['duffel-token', 'duffel_test_ duffel_live_', '[A-Za-z0-9_=-]{43}'],
  ['shippo-token', 'shippo_live_ shippo_test_', `${hex}{40}`],
  ['hubspot-access-token', 'pat-na1- pat-eu1- pat-na2- pat-ap1-', uuid],
  ['asana-access-token', '1/ 2/', `\\d{10,20}(?:/\\d{10,20})?:${hex}{32}`],
  ['mapbox-token', 'sk. pk.', '[A-Za-z0-9_-]{60,160}\\.[A-Za-z0-9_-]{22}'],
  ['beamer-api-token', 'b_', '[A-Za-z0-9=_/-]{44}'],
]

const keys: readonly Row[] = [
  ['json-web-token', 'eyJ', `${word}{10,4000}\\.eyJ${word}{10,8000}\\.${word}{16,2000}`],
  ['json-web-token', 'ZXlK', `${base64}{60,8000}={0,2}`],
  ['bitcoin-wif-uncompressed', '5H 5J 5K', `${base58}{49}(?![A-Za-z0-9_+/=-])`],
  ['bitcoin-wif-compressed', 'K L', `${base58}{51}(?![A-Za-z0-9_+/=-])`],
  ['bitcoin-extended-private-key', 'xprv yprv zprv tprv uprv vprv Yprv Zprv Uprv Vprv', `${base58}{107}`],
  ['ethereum-private-key', '0x', '[0-9a-fA-F]{64}'],
]

export interface SecretFormat {
  id: string
  prefix: string
  /** Of the whole secret; it is tried where the prefix was found. */
  pattern: RegExp
}

const defaultEnd = '(?![A-Za-z0-9_-])'
/** Formats whose last characters may be followed by more, up to the most that they have. */
const openFormats: ReadonlySet<string> = new Set([
  'slack-token',
  'slack-legacy-workspace-token',
  'json-web-token',
])

/** All formats, with one entry for each prefix. */
export const secretFormats: readonly SecretFormat[] = [models, clouds, development, services, keys]
  .flat()
  .flatMap(([id, prefixes, rest]) =>
    prefixes.split(' ').map((prefix) => {
      const literal = prefix.replaceAll(/[.$+|/\\]/g, '\\$&')
      const end = openFormats.has(id) || rest.endsWith(')') ? '' : defaultEnd
      return { id, prefix, pattern: new RegExp(`${literal}(?:${rest})${end}`, 'y') }
    }),
  )
