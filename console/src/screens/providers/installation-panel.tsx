import { Alert, Badge, Button, Group, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import {
  CredentialTestButton,
  CredentialTestResult,
  useCredentialTest,
} from '../../components/credential-test.tsx'
import { Fields } from '../../components/fields.tsx'
import { OverrideTable } from '../../components/override-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { refreshCatalog } from '../../components/refresh-catalog.ts'
import { EditProvider } from './edit-provider.tsx'

/** The provider as the installation has it, and what was edited. */
export function InstallationPanel({ slug }: { slug: string }) {
  const canWrite = mayDoEverywhere(useSession(), 'catalogue:write')
  const query = useQuery(
    api.queryOptions('get', '/catalogue/providers/{slug}', { params: { path: { slug } } }),
  )
  const [dialog, setDialog] = useState<'edit' | 'revert' | null>(null)
  const test = useCredentialTest(() =>
    client.POST('/catalogue/providers/{slug}/test', { params: { path: { slug } }, body: {} }),
  )
  const provider = query.data?.data
  return (
    <Panel
      title="Server credential"
      description="Used for requests of every organization that has no key of its own."
      actions={
        canWrite &&
        provider && (
          <>
            <CredentialTestButton test={test} size="xs" />
            {provider.edit && (
              <Button size="xs" variant="default" onClick={() => setDialog('revert')}>
                {provider.base ? 'Revert the edit' : 'Delete'}
              </Button>
            )}
            <Button size="xs" variant="default" onClick={() => setDialog('edit')}>
              Edit
            </Button>
          </>
        )
      }
    >
      <CredentialTestResult test={test} />
      <QueryView query={query}>{({ data }) => <Installation provider={data} />}</QueryView>
      {dialog === 'edit' && provider && <EditProvider provider={provider} onClose={() => setDialog(null)} />}
      {dialog === 'revert' && provider && <Revert provider={provider} onClose={() => setDialog(null)} />}
    </Panel>
  )
}

function Installation({ provider }: { provider: Schemas['CatalogueProvider'] }) {
  const { in_force, edit, base, sources, enabled } = provider
  return (
    <>
      {edit?.problem && (
        <Alert color="red" title="The edit is not in force">
          {edit.problem}
        </Alert>
      )}
      <Fields
        fields={[
          [
            'API key',
            in_force?.api_key ?? (enabled ? 'none needed' : 'none: set one here or in headgate.yaml'),
          ],
          ['Address', in_force?.base_url ?? '–'],
          ['Formats', in_force?.dialects?.join(', ') ?? '–'],
          [
            'Defined by',
            <Group key="sources" gap={4}>
              {sources.map((source) => (
                <Badge key={source} variant="light" tt="none">
                  {sourceLabels[source]}
                </Badge>
              ))}
            </Group>,
          ],
        ]}
      />
      {edit?.fields && base && <OverrideTable fields={edit.fields} base={base} />}
    </>
  )
}

const sourceLabels: Record<Schemas['CatalogueProvider']['sources'][number], string> = {
  built_in: 'Headgate',
  snapshot: 'the price list',
  'headgate.yaml': 'headgate.yaml',
  runtime: 'an edit',
}

function Revert({
  provider: { slug, base },
  onClose,
}: {
  provider: Schemas['CatalogueProvider']
  onClose: () => void
}) {
  const queryClient = useQueryClient()
  const revert = async () => {
    await client.DELETE('/catalogue/providers/{slug}', { params: { path: { slug } } })
    await refreshCatalog(queryClient)
  }
  return (
    <ConfirmByName
      title={base ? 'Revert the edit' : 'Delete the provider'}
      name={slug}
      action={base ? 'Revert' : 'Delete'}
      onConfirm={revert}
      onClose={onClose}
    >
      <Text size="sm">
        {base
          ? 'The original values apply immediately. An API key that was entered here is deleted.'
          : 'The provider and its API key are deleted. Models that only it offers can no longer be used.'}
      </Text>
    </ConfirmByName>
  )
}
