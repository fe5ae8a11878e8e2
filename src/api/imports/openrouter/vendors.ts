/** What the gateway is called; a provider has the same name. */
export const identity = { name: 'openrouter', title: 'OpenRouter' }
