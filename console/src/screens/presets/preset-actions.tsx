import { ActionIcon, Button, Menu, Select, Textarea } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { MoreIcon } from '../../components/icons.tsx'
import { TextField } from '../../components/text-field.tsx'
import { draftOf, emptyDraft } from './draft.ts'
import { VersionEditor } from './version-editor.tsx'

type Preset = Schemas['PresetWithDesignatedVersion']

interface PresetActionsProps {
  preset: Preset
  mayChange: boolean
}

export function PresetActions({ preset, mayChange }: PresetActionsProps) {
  const session = useSession()
  const [dialog, setDialog] = useState<'version' | 'details' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const live = preset.designated_version
  return (
    <>
      {mayDo(session, 'inference:write') && preset.status === 'active' && (
        <Button
          size="xs"
          variant="default"
          renderRoot={(props) => (
            <Link to="/playground" search={{ model: `@preset/${preset.slug}` }} {...props} />
          )}
        >
          Open in playground
        </Button>
      )}
      {mayChange && preset.status !== 'archived' && (
        <Button size="xs" onClick={() => setDialog('version')}>
          Edit as new version
        </Button>
      )}
      {mayChange && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" aria-label={`Actions for ${preset.name}`}>
              <MoreIcon />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => setDialog('details')}>Name, description and status</Menu.Item>
            <Menu.Item c="red" onClick={() => setDialog('delete')}>
              Delete
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      {dialog === 'version' && (
        <VersionEditor
          slug={preset.slug}
          title="New version"
          initial={live ? draftOf(live) : emptyDraft}
          onSaved={close}
          onClose={close}
        />
      )}
      {dialog === 'details' && <EditDetails preset={preset} onClose={close} />}
      {dialog === 'delete' && <DeletePreset preset={preset} onClose={close} />}
    </>
  )
}

const statuses: { value: Preset['status']; label: string }[] = [
  { value: 'active', label: 'Active: requests can use it' },
  { value: 'disabled', label: 'Disabled: requests that name it are refused' },
  { value: 'archived', label: 'Archived: refused, and no new versions' },
]

function EditDetails({ preset, onClose }: { preset: Preset; onClose: () => void }) {
  const refresh = useRefresh()
  const [fields, setFields] = useState({
    name: preset.name,
    description: preset.description ?? '',
    status: preset.status,
  })
  const save = async () => {
    const { name, description, status } = fields
    await client.PATCH('/presets/{slug}', {
      params: { path: { slug: preset.slug } },
      body: { name, description: description || null, status },
    })
    await refresh('/presets', '/presets/{slug}')
  }
  return (
    <FormDialog
      title="Name, description and status"
      action="Save"
      isReady={fields.name.trim() !== ''}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField
        label="Name to show"
        description={`Requests name it @preset/${preset.slug} in any case.`}
        maxLength={200}
        required
        data-autofocus
        value={fields.name}
        onChange={(name) => setFields({ ...fields, name })}
      />
      <Textarea
        label="Description"
        maxLength={1000}
        autosize
        value={fields.description}
        onChange={(event) => setFields({ ...fields, description: event.currentTarget.value })}
      />
      <Select
        label="Status"
        allowDeselect={false}
        data={statuses}
        value={fields.status}
        onChange={(status) => status && setFields({ ...fields, status })}
      />
    </FormDialog>
  )
}

function DeletePreset({ preset: { slug }, onClose }: { preset: Preset; onClose: () => void }) {
  const refresh = useRefresh()
  const navigate = useNavigate()
  const remove = async () => {
    await client.DELETE('/presets/{slug}', { params: { path: { slug } } })
    await navigate({ to: '/presets' })
    await refresh('/presets')
  }
  return (
    <ConfirmByName title="Delete the preset" name={slug} action="Delete" onConfirm={remove} onClose={onClose}>
      All versions are deleted, and requests that name @preset/{slug} are refused at once. To stop it
      temporarily, disable it instead.
    </ConfirmByName>
  )
}
