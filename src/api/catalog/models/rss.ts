import type { Model } from '../../../catalog/model.ts'
import { escapeHtml } from '../../../platform/http/html.ts'

/** The list as an RSS feed, for readers that announce new models. */
export function renderRssFeed(models: readonly Model[], site: string): Response {
  const items = models.map((model) => renderItem(model, site)).join('')
  const text = `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Models</title><link>${escapeHtml(site)}</link><description>The models of this gateway</description>${items}</channel></rss>`
  return new Response(text, { headers: { 'content-type': 'application/rss+xml; charset=utf-8' } })
}

function renderItem(model: Model, site: string): string {
  const date = model.created > 0 ? `<pubDate>${new Date(model.created * 1000).toUTCString()}</pubDate>` : ''
  const link = escapeHtml(`${site}/api/v1/model/${model.id}`)
  return `<item><title>${escapeHtml(model.name)}</title><link>${link}</link><guid isPermaLink="false">${escapeHtml(model.id)}</guid><description>${escapeHtml(model.description)}</description>${date}</item>`
}
