import type { Model } from '../../catalogue/model.ts'
import { escapeHtml } from '../../lib/html.ts'

/** The list as an RSS feed, for readers that announce new models. */
export function renderRssFeed(models: readonly Model[], origin: string): Response {
  const items = models.map((model) => renderItem(model, origin)).join('')
  const text = `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Models</title><link>${escapeHtml(origin)}</link><description>The models of this gateway</description>${items}</channel></rss>`
  return new Response(text, { headers: { 'content-type': 'application/rss+xml; charset=utf-8' } })
}

function renderItem(model: Model, origin: string): string {
  const date = model.created > 0 ? `<pubDate>${new Date(model.created * 1000).toUTCString()}</pubDate>` : ''
  const link = escapeHtml(`${origin}/api/v1/model/${model.id}`)
  return `<item><title>${escapeHtml(model.name)}</title><link>${link}</link><guid isPermaLink="false">${escapeHtml(model.id)}</guid><description>${escapeHtml(model.description)}</description>${date}</item>`
}
