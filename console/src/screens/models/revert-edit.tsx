import { Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { client, type Schemas } from '../../api/client.ts'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'
import { endpointWithoutEdit } from './endpoint-tag.ts'

interface RevertEditProps {
  model: Schemas['CatalogueModel']
  /** Null for the edit of the model itself. */
  tag: string | null
  onClose: () => void
}

/** Removes an edit: the value without it is in force again. What exists only as an edit is deleted. */
export function RevertEdit({ model, tag, onClose }: RevertEditProps) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const [author = '', ...rest] = model.id.split('/')
  const slug = rest.join('/')
  const isOwn = tag === null ? model.base === null : endpointWithoutEdit(model, tag) === null
  const revert = async () => {
    if (tag !== null) {
      const path = { author, slug, tag }
      await client.DELETE('/catalogue/models/{author}/{slug}/endpoints/{tag}', { params: { path } })
    } else {
      await client.DELETE('/catalogue/models/{author}/{slug}', { params: { path: { author, slug } } })
      if (isOwn) await navigate({ to: '/models' })
    }
    await refreshCatalog(queryClient)
  }
  return (
    <ConfirmByName
      title={isOwn ? 'Delete it from the catalog' : 'Revert the edit'}
      name={tag ?? model.id}
      action={isOwn ? 'Delete' : 'Revert'}
      onConfirm={revert}
      onClose={onClose}
    >
      <Text size="sm">
        {isOwn
          ? 'Requests for it are rejected from now on.'
          : 'The original values apply immediately. The edit is discarded.'}
      </Text>
    </ConfirmByName>
  )
}
