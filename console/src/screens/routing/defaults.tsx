import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { Fields } from '../../components/fields.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'

/** Shows the defaults of requests that choose nothing themselves. */
export function Defaults() {
  const isAllowed = mayDo(useSession(), 'workspaces:read')
  const { id } = useWorkspace()
  const query = useQuery({
    ...api.queryOptions('get', '/workspaces/{id}', { params: { path: { id: id ?? 'default' } } }),
    enabled: isAllowed,
  })
  if (!isAllowed) return null
  return (
    <Panel
      title="Defaults of the workspace"
      description="For requests without routing preferences. Simulate an order above before you save it."
    >
      <QueryView query={query}>
        {({ data }) => (
          <>
            <Fields
              fields={[
                ['Order of providers', data.default_provider_sort ?? 'balanced by price'],
                ['Model for text', data.default_text_model ?? 'none'],
                ['Model for images', data.default_image_model ?? 'none'],
              ]}
            />
            <Text size="sm">
              <TextLink to="/workspaces/$id" params={{ id: data.id }}>
                Settings of {data.name}
              </TextLink>
            </Text>
          </>
        )}
      </QueryView>
    </Panel>
  )
}
