/** Plot of two axes, as SVG that is as wide as its place. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Axis } from "./axis_scale.ts";
import { widthOf } from "./tick_texts.ts";
import { plainText } from "../readable_text.ts";

/** Returns the width of an element, and how it is measured. */
export function useWidth(first: number) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => element.clientWidth > 0 && setWidth(element.clientWidth);
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return { box, width };
}

const HEIGHT = 240;
const EDGE = { top: 10, bottom: 24 };

/** Where points of a plot are. */
export interface PlotPlaces {
  x(place: number): number;
  y(place: number): number;
}

/** The plot; `draw` gets where its points are. */
export function SvgPlot({ x, y, label, draw, onKeyDown }: {
  x: Axis;
  y: Axis;
  label: string;
  draw: (places: PlotPlaces) => ComponentChildren;
  onKeyDown?: (event: KeyboardEvent) => void;
}) {
  const { box, width } = useWidth(600);
  const left = widthOf(y.ticks.map(({ text }) => text));
  // The last text stands in the middle of its tick.
  const below = widthOf(x.ticks.map(({ text }) => text));
  const inner = { width: width - left - below / 2, height: HEIGHT - EDGE.top - EDGE.bottom };
  const places: PlotPlaces = {
    x: (place) => left + place * inner.width,
    y: (place) => EDGE.top + (1 - place) * inner.height,
  };
  // Texts of an axis do not touch.
  const every = Math.ceil((x.ticks.length * below) / Math.max(below, inner.width));
  return (
    <div
      ref={box}
      class="plot"
      tabIndex={0}
      role="img"
      aria-label={plainText(label)}
      onKeyDown={onKeyDown}
    >
      <svg width={width} height={HEIGHT} aria-hidden="true">
        {y.ticks.map(({ at, text }) => (
          <g key={at} class="tick">
            <path d={`M${left} ${places.y(at)}H${left + inner.width}`} />
            <text x={left - 6} y={places.y(at) + 4} text-anchor="end">{plainText(text)}</text>
          </g>
        ))}
        {x.ticks.filter((_, index) => index % every === 0).map(({ at, text }) => (
          <g key={at} class="tick">
            <path d={`M${places.x(at)} ${EDGE.top}V${EDGE.top + inner.height}`} />
            <text x={places.x(at)} y={HEIGHT - 7} text-anchor="middle">{plainText(text)}</text>
          </g>
        ))}
        {draw(places)}
      </svg>
    </div>
  );
}
