/** What the gateway is called; a provider has the same name. */
export const identity = { name: 'cloudflare', title: 'Cloudflare AI Gateway' }

/** Names of providers there that differ from the author of their models here. */
export const authors: Readonly<Record<string, string>> = {
  'google-ai-studio': 'google',
  'google-vertex-ai': 'google',
  grok: 'x-ai',
  mistral: 'mistralai',
  'perplexity-ai': 'perplexity',
}
