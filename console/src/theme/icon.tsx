import { createElement } from 'react'
import { type IconName, shapes } from './icon-shapes.ts'

/** A line drawing in the color of the text. The text beside it, or the label of its button, says what it means. */
export function Icon({ name, size = '1.15em' }: { name: IconName; size?: string | number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      style={{ flex: 'none' }}
      aria-hidden="true"
    >
      {shapes[name].map(([tag, attributes]) =>
        createElement(tag, { key: JSON.stringify(attributes), ...attributes }),
      )}
    </svg>
  )
}
