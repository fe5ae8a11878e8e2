import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ListedForm } from './listed-form.tsx'
import { ProviderGallery } from './provider-gallery.tsx'
import { ServerForm } from './server-form.tsx'

type Provider = Schemas['ProviderHealth']
type Choice = { listed: Provider } | { address: string }

interface AddProviderProps {
  onClose: () => void
  /** Called with the slug of what was added. */
  onAdded: (slug: string) => void
}

/** Adds a provider: first which one, then its credential. */
export function AddProvider({ onClose, onAdded }: AddProviderProps) {
  const session = useSession()
  const query = useQuery(api.queryOptions('get', '/providers/health'))
  const [choice, setChoice] = useState<Choice | null>(null)
  const shared = { onBack: () => setChoice(null), onClose, onAdded }
  if (choice && 'listed' in choice) return <ListedForm provider={choice.listed} {...shared} />
  // Without the providers, the slug of a new one could be that of another.
  if (choice && query.data) {
    const taken = new Set(query.data.data.map(({ provider }) => provider))
    return <ServerForm address={choice.address} taken={taken} {...shared} />
  }
  const mayAddServer = mayDoEverywhere(session, 'catalogue:write')
  return (
    <ProviderGallery
      query={query}
      onClose={onClose}
      onProvider={(listed) => setChoice({ listed })}
      {...(mayAddServer && { onServer: (address) => setChoice({ address }) })}
    />
  )
}
