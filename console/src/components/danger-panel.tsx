import type { ReactNode } from 'react'
import { ConfirmByName } from './confirm-by-name.tsx'
import { DialogButton } from './dialog-button.tsx'
import { Panel } from './panel.tsx'

interface DangerPanelProps {
  title: string
  description: ReactNode
  action: string
  /** The text that the person has to type. */
  name: string
  /** A description of the loss. */
  children: ReactNode
  onConfirm: () => Promise<unknown>
}

/** The part of a screen that deletes what the screen is about. */
export function DangerPanel({ title, description, action, name, children, onConfirm }: DangerPanelProps) {
  return (
    <Panel
      title={title}
      description={description}
      actions={
        <DialogButton label={action} color="red" variant="outline">
          {(close) => (
            <ConfirmByName title={title} name={name} action={action} onConfirm={onConfirm} onClose={close}>
              {children}
            </ConfirmByName>
          )}
        </DialogButton>
      }
    />
  )
}
