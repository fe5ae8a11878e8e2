import { Alert, Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../../api/client.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { OverrideTable } from '../../components/override-table.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { EditEndpoint } from './edit-endpoint.tsx'
import { EditModel } from './edit-model.tsx'
import { endpointWithoutEdit, tagOf } from './endpoint-tag.ts'
import { RevertEdit } from './revert-edit.tsx'

type CatalogModel = Schemas['CatalogueModel']

interface ModelPath {
  author: string
  slug: string
}

export function catalogModelOptions(path: ModelPath) {
  return api.queryOptions('get', '/catalogue/models/{author}/{slug}', { params: { path } })
}

type Dialog =
  | { kind: 'model' }
  | { kind: 'endpoint'; tag: string | null }
  | { kind: 'revert'; tag: string | null }

/** Shows the edits beside the values without them, and the forms to edit. */
export function CatalogPanel({ author, slug }: ModelPath) {
  const canWrite = mayDoEverywhere(useSession(), 'catalogue:write')
  const query = useQuery(catalogModelOptions({ author, slug }))
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const close = () => setDialog(null)
  const model = query.data?.data
  return (
    <Panel
      title="Catalog"
      description="Edits apply to new requests at once, and survive updates of the built-in catalog."
      actions={
        canWrite && (
          <>
            <Button size="xs" variant="default" onClick={() => setDialog({ kind: 'endpoint', tag: null })}>
              Add an endpoint
            </Button>
            <Button size="xs" variant="default" onClick={() => setDialog({ kind: 'model' })}>
              Edit the model
            </Button>
          </>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) => <Edits model={data} {...(canWrite && { onOpen: setDialog })} />}
      </QueryView>
      {model && dialog?.kind === 'model' && <EditModel model={model} onClose={close} />}
      {model && dialog?.kind === 'endpoint' && (
        <EditEndpoint model={model} tag={dialog.tag} onClose={close} />
      )}
      {model && dialog?.kind === 'revert' && <RevertEdit model={model} tag={dialog.tag} onClose={close} />}
    </Panel>
  )
}

interface EditsProps {
  model: CatalogModel
  /** Absent for those who may only read. */
  onOpen?: (dialog: Dialog) => void
}

function Edits({ model, onOpen }: EditsProps) {
  const { edit, in_force, base, sources } = model
  const tags = (in_force?.endpoints ?? []).map(tagOf)
  const unknown = model.endpoint_edits.filter(({ tag }) => !tags.includes(tag)).map(({ tag }) => tag)
  return (
    <Stack gap="md">
      <Group gap={6}>
        <Text size="sm">Defined by</Text>
        {sources.map((source) => (
          <Badge key={source} variant="light" tt="none">
            {source === 'runtime' ? 'an edit' : source === 'built_in' ? 'Headgate' : source}
          </Badge>
        ))}
      </Group>
      {edit && (
        <EditView
          title="The model"
          edit={edit}
          base={base}
          {...(onOpen && { onRevert: () => onOpen({ kind: 'revert', tag: null }) })}
          revertLabel={base ? 'Revert' : 'Delete'}
        />
      )}
      {[...tags, ...unknown].map((tag) => {
        const endpointEdit = model.endpoint_edits.find((one) => one.tag === tag)
        const baseEndpoint = endpointWithoutEdit(model, tag)
        return (
          <EditView
            key={tag}
            title={`Endpoint ${tag}`}
            edit={endpointEdit ?? null}
            base={baseEndpoint}
            {...(onOpen && { onEdit: () => onOpen({ kind: 'endpoint', tag }) })}
            {...(onOpen && endpointEdit && { onRevert: () => onOpen({ kind: 'revert', tag }) })}
            revertLabel={baseEndpoint ? 'Revert' : 'Delete'}
          />
        )
      })}
    </Stack>
  )
}

interface EditViewProps {
  title: string
  edit: { fields: object | null; problem: string | null; updated_at: string } | null
  base: object | null
  revertLabel: string
  onEdit?: () => void
  onRevert?: () => void
}

function EditView({ title, edit, base, revertLabel, onEdit, onRevert }: EditViewProps) {
  return (
    <Stack gap={4}>
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          <Title order={3} size="h6" style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {edit ? (
            <Text size="xs" c="dimmed">
              edited <Time iso={edit.updated_at} style="age" />
            </Text>
          ) : (
            <Text size="xs" c="dimmed">
              not edited
            </Text>
          )}
        </Group>
        <Group gap="xs">
          {onRevert && (
            <Button
              size="compact-xs"
              variant="default"
              onClick={onRevert}
              aria-label={`${revertLabel} ${title}`}
            >
              {revertLabel}
            </Button>
          )}
          {onEdit && (
            <Button size="compact-xs" variant="default" onClick={onEdit} aria-label={`Edit ${title}`}>
              Edit
            </Button>
          )}
        </Group>
      </Group>
      {edit?.problem && (
        <Alert color="red" title="The edit is not in force">
          {edit.problem}
        </Alert>
      )}
      {edit?.fields && <OverrideTable fields={edit.fields} base={base} />}
    </Stack>
  )
}
