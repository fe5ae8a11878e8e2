import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { ExternalLink } from '../../components/external-link.tsx'
import { Fields } from '../../components/fields.tsx'
import { Panel } from '../../components/panel.tsx'

/** Shows facts about the company. */
export function ProviderFacts({ provider }: { provider: Schemas['Provider'] | undefined }) {
  if (!provider) return null
  const links: [string, string | null][] = [
    ['Status page', provider.status_page_url],
    ['Privacy policy', provider.privacy_policy_url],
    ['Terms of service', provider.terms_of_service_url],
  ]
  const fields: [string, ReactNode][] = [
    ['Slug', <Id key="slug" value={provider.slug} label="Copy the slug" />],
    ['Headquarters', provider.headquarters ?? '–'],
    ['Data centers', provider.datacenters?.join(', ') ?? '–'],
    ...links.flatMap(([name, url]): [string, ReactNode][] =>
      url === null
        ? []
        : [
            [
              name,
              <ExternalLink key={name} url={url}>
                {url}
              </ExternalLink>,
            ],
          ],
    ),
  ]
  return (
    <Panel title="About">
      <Fields fields={fields} />
    </Panel>
  )
}
