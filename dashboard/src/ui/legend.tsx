// The meaning of forms and colours, drawn as SVG with the custom properties of the page.
import type {ComponentChildren} from 'preact';

const Key = ({name, children}: {name: string; children: ComponentChildren}) => (
  <li>
    <svg viewBox="-10 -10 20 20" width="16" height="16" aria-hidden="true">
      {children}
    </svg>
    {name}
  </li>
);
const Line = ({name, kind}: {name: string; kind: string}) => (
  <Key name={name}>
    <line class={`k-line ${kind}`} x1="-9" y1="5" x2="9" y2="-5" />
  </Key>
);

export function Legend() {
  return (
    <details class="legend">
      <summary>Legend</summary>
      <ul>
        <Key name="activation">
          <rect class="k-activation" x="-6" y="-6" width="12" height="12" />
        </Key>
        <Key name="at work">
          <rect class="k-open" x="-6" y="-6" width="12" height="12" />
        </Key>
        <Key name="event">
          <circle class="k-event" r="6" />
        </Key>
        <Key name="waiting">
          <circle class="k-waiting" r="6" />
        </Key>
        <Key name="from outside">
          <circle class="k-root" r="5" />
        </Key>
        <Key name="answer">
          <path class="k-submit" d="M0-8 8 0 0 8-8 0Z" />
        </Key>
        <Key name="by digd">
          <path class="k-system" d="M0-7 7 6H-7Z" />
        </Key>
        <Key name="healed">
          <circle class="k-event" r="4" />
          <circle class="k-ring healed" r="8" />
        </Key>
        <Key name="would be healed">
          <circle class="k-event" r="4" />
          <circle class="k-ring shadow" r="8" />
        </Key>
        <Key name="warning">
          <circle class="k-event" r="4" />
          <circle class="k-ring warning" r="8" />
        </Key>
        <Key name="failure">
          <circle class="k-event" r="4" />
          <circle class="k-ring failure" r="8" />
        </Key>
        <Line name="sent, consumed" kind="consume" />
        <Line name="pending, left waiting" kind="wait" />
        <Line name="rerouted" kind="reroute" />
        <Line name="discarded" kind="discard" />
        <Line name="in progress" kind="open" />
      </ul>
    </details>
  );
}
